import { type LinesProcess, spawnLines } from './lines-process.js';

/** What a replica says, a line of JSON each. */
interface Line {
  readonly message?: string;
  /** The shards that it owns, each with its term. */
  readonly owns?: readonly (readonly [shard: number, term: number])[];
  /** The id that the fence has refused. */
  readonly refused?: string;
}

/** A Controller in a process of its own that shares the rows of `fenced-writes.ts` by shards. */
export interface FencedReplica extends LinesProcess<Line> {
  readonly name: string;
}

/** How it shares, and how long a run takes at most, in ms. */
interface Settings {
  readonly engine: 'postgres' | 'etcd';
  /** The engine's URL. Default that of the rows. */
  readonly engineUrl?: string;
  /** What `shards` is given besides. */
  readonly shards: object;
  readonly takes: number;
}

export function fencedReplica(name: string, url: string, { engine, engineUrl = url, shards, takes }: Settings): FencedReplica {
  const env = {
    DATABASE_URL: url,
    REPLICA: name,
    ENGINE: engine,
    ENGINE_URL: engineUrl,
    SHARDS: JSON.stringify(shards),
    TAKES: String(takes),
  };
  const program = new URL('process/fenced-replica.ts', import.meta.url);
  return Object.assign(
    spawnLines(program, env, (line) => JSON.parse(line) as Line),
    { name },
  );
}

/** The shards that it says it owns, each with its term. */
export function ownedBy({ lines, isAlive }: FencedReplica): ReadonlyMap<number, number> {
  return new Map(isAlive ? lines.filter(({ owns }) => owns !== undefined).at(-1)?.owns : []);
}

/** All shards are owned by these, each by one. */
export function isWhole(replicas: readonly FencedReplica[], count: number): boolean {
  const owned = replicas.flatMap((replica) => [...ownedBy(replica).keys()]);
  return owned.length === count && new Set(owned).size === count;
}

/** And by none more than one more than by another (H4). */
export function isEven(replicas: readonly FencedReplica[], count: number): boolean {
  const sizes = replicas.map((replica) => ownedBy(replica).size);
  return isWhole(replicas, count) && Math.max(...sizes) - Math.min(...sizes) <= 1;
}

/** The ids that the fence refused to these, from its line `since` on. */
export function refusedTo({ lines }: FencedReplica, since = 0): readonly string[] {
  return lines.slice(since).flatMap(({ refused }) => refused ?? []);
}
