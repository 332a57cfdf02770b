/** A replica, as the table shows it. */
export interface Seat {
  readonly name: string;
  readonly pid: number | undefined;
  readonly owns: readonly number[];
  /** How many rows it has made right. */
  readonly kept: number;
  readonly isAlive: boolean;
}

export interface Board {
  readonly count: number;
  readonly seats: readonly Seat[];
  readonly drifted: number;
  readonly rows: number;
}

/** Two shards a cell: neither, the left, the right, or both of them. */
const CELLS = ['·', '▌', '▐', '█'];

/** The table: a line for each replica with its shards, and one for the shards that nobody owns. */
export function drawBoard({ count, seats, drifted, rows }: Board): string[] {
  const owned = new Set(seats.flatMap(({ owns }) => owns));
  const unowned = Array.from({ length: count }, (_, shard) => shard).filter((shard) => !owned.has(shard));
  const cells = (shards: readonly number[]): string =>
    Array.from({ length: Math.ceil(count / 2) }, (_, cell) => {
      const [left, right] = [shards.includes(2 * cell), shards.includes(2 * cell + 1)];
      return CELLS[(left ? 1 : 0) + (right ? 2 : 0)];
    }).join('');
  const line = (name: string, pid: string, owns: readonly number[], kept: string): string =>
    `${name.padEnd(8)}  ${pid.padStart(7)}  ${String(owns.length).padStart(6)}  ${cells(owns)}  ${kept.padStart(8)}`;
  return [
    `${'replica'.padEnd(8)}  ${'pid'.padStart(7)}  ${'shards'.padStart(6)}  ${'which'.padEnd(Math.ceil(count / 2))}  ${'kept'.padStart(8)}`,
    ...seats.map(({ name, pid, owns, kept, isAlive }) => line(name, isAlive ? String(pid) : 'ended', owns, String(kept))),
    line('nobody', '', unowned, ''),
    `${rows - drifted} of ${rows} rows are as they are wanted`,
  ];
}
