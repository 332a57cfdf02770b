import type { Step } from 'kreconciler';
import type { Process } from './ports.js';
import { messageOf } from './print.js';
import type { Status } from './reconciler.js';

/** A line of the table. */
export interface Row {
  readonly id: string;
  /** `undefined` while the file has never been readable. */
  readonly desired?: number;
  readonly running: number;
  /** How many of its processes have ended by themselves, each of which is a restart. */
  readonly restarts: number;
  readonly error: string;
}

/** What the table is made of. */
export type News = { readonly step: Step } | { readonly status: Status } | { readonly death: Process };

export type Rows = ReadonlyMap<string, Row>;

/** The table after one more piece of news. For `scan`. */
export function follow(rows: Rows, news: News): Rows {
  if ('death' in news) return change(rows, news.death.id, (row) => ({ restarts: row.restarts + 1 }));
  if ('step' in news) return followStep(rows, news.step);
  const { id, desired, running } = news.status;
  return change(rows, id, () => ({ desired, running }));
}

function followStep(rows: Rows, step: Step): Rows {
  switch (step.kind) {
    case 'requeued':
    case 'dropped':
      return step.error === undefined ? rows : change(rows, step.id, () => ({ error: messageOf(step.error) }));
    case 'succeeded': {
      const row = rows.get(step.id);
      // Nothing of it is wanted, and nothing is left.
      if (row?.desired === 0 && row.running === 0) return new Map([...rows].filter(([id]) => id !== step.id));
      return change(rows, step.id, () => ({ error: '' }));
    }
    default:
      return rows;
  }
}

function change(rows: Rows, id: string, change: (row: Row) => Partial<Row>): Rows {
  const row = rows.get(id) ?? { id, running: 0, restarts: 0, error: '' };
  return new Map(rows).set(id, { ...row, ...change(row) });
}

/** The table as lines that are at most so long, and at most so many. */
export function draw(rows: Rows, { columns, lines }: { readonly columns: number; readonly lines: number }): readonly string[] {
  const sorted = [...rows.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
  const shown = sorted.length < lines ? sorted : sorted.slice(0, Math.max(lines - 2, 0));
  const cells = [
    ['service', 'desired', 'running', 'restarts', 'last error'],
    ...shown.map(({ id, desired, running, restarts, error }) => [
      id,
      String(desired ?? '?'),
      String(running),
      String(restarts),
      error.replaceAll(/\s+/g, ' '),
    ]),
  ];
  const widths = ['service', 'desired', 'running', 'restarts'].map((_, column) =>
    Math.max(...cells.map((row) => (row[column] as string).length)),
  );
  const drawn = cells.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  if (shown.length < sorted.length) drawn.push(`... and ${sorted.length - shown.length} more`);
  return drawn.map((line) => line.slice(0, columns - 1));
}
