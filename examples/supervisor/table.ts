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
  readonly pids: readonly number[];
  /** When the oldest of its processes was started, in ms since 1970. */
  readonly since?: number | undefined;
  /** When its next try is due, if it waits for one. */
  readonly nextTry?: number | undefined;
}

const MOST_PIDS = 3;
const UNITS: readonly (readonly [number, string])[] = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
];

/** What the table is made of. */
export type News = { readonly step: Step } | { readonly status: Status } | { readonly death: Process };

export type Rows = ReadonlyMap<string, Row>;

/** The table after one more piece of news. For `scan`. */
export function follow(rows: Rows, news: News): Rows {
  if ('death' in news) return change(rows, news.death.id, (row) => ({ restarts: row.restarts + 1 }));
  if ('step' in news) return followStep(rows, news.step);
  const { id, desired, running, pids, since } = news.status;
  return change(rows, id, () => ({ desired, running, pids, since }));
}

function followStep(rows: Rows, step: Step): Rows {
  switch (step.kind) {
    case 'requeued':
      return change(rows, step.id, ({ error }) => ({
        error: step.error === undefined ? error : messageOf(step.error),
        nextTry: step.at + step.delay,
      }));
    case 'dropped':
      return step.error === undefined ? rows : change(rows, step.id, () => ({ error: messageOf(step.error) }));
    case 'started':
      return rows.get(step.id)?.nextTry === undefined ? rows : change(rows, step.id, () => ({ nextTry: undefined }));
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
  const row = rows.get(id) ?? { id, running: 0, restarts: 0, error: '', pids: [] };
  return new Map(rows).set(id, { ...row, ...change(row) });
}

/** How a line of the table is to be coloured. */
export type Tone = 'plain' | 'good' | 'busy' | 'bad';

export interface DrawConfig {
  readonly columns: number;
  /** How many lines there may be at most. */
  readonly lines: number;
  /** In ms since 1970. */
  readonly now: number;
}

const TITLES = ['service', 'desired', 'running', 'restarts', 'uptime', 'next try', 'pids', 'last error'];

/** The table as lines that are at most so long, and at most so many. */
export function draw(rows: Rows, { columns, lines, now }: DrawConfig): readonly { readonly text: string; readonly tone: Tone }[] {
  const sorted = [...rows.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
  const shown = sorted.length < lines ? sorted : sorted.slice(0, Math.max(lines - 2, 0));
  const table = [{ cells: TITLES, tone: 'plain' as Tone }, ...shown.map((row) => ({ cells: cellsOf(row, now), tone: toneOf(row) }))];
  const widths = TITLES.map((_, column) => Math.max(...table.map(({ cells }) => (cells[column] as string).length)));
  const drawn = table.map(({ cells, tone }) => ({
    text: cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
    tone,
  }));
  if (shown.length < sorted.length) drawn.push({ text: `... and ${sorted.length - shown.length} more`, tone: 'plain' });
  return drawn.map(({ text, tone }) => ({ text: text.slice(0, columns - 1), tone }));
}

function cellsOf({ id, desired, running, restarts, error, pids, since, nextTry }: Row, now: number): readonly string[] {
  return [
    id,
    String(desired ?? '?'),
    String(running),
    String(restarts),
    since === undefined ? '' : span(now - since),
    nextTry === undefined ? '' : `in ${span(nextTry - now)}`,
    pids.slice(0, MOST_PIDS).join(' ') + (pids.length > MOST_PIDS ? ' ...' : ''),
    error.replaceAll(/\s+/g, ' '),
  ];
}

function toneOf({ desired, running, error }: Row): Tone {
  if (error !== '') return 'bad';
  return running === desired ? 'good' : 'busy';
}

/** `5 s`, `12 min`, `3 h`, `2 d` */
function span(ms: number): string {
  const [size, unit] = UNITS.find(([size]) => ms >= size) ?? [1000, 's'];
  return `${Math.max(Math.floor(ms / size), 0)} ${unit}`;
}
