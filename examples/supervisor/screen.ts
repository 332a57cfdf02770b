import { LiveBlock } from '../live-block.js';
import type { Line } from './logs.js';
import { draw, type Row, type Rows, type Tone } from './table.js';

/** By https://no-color.org; and there are terminals that know none. */
const HAS_COLOUR = !process.env['NO_COLOR'] && process.env['TERM'] !== 'dumb';
const COLOURS: Readonly<Record<Tone, number>> = { plain: 2, good: 32, busy: 33, bad: 31 };

function paint({ text, tone }: { readonly text: string; readonly tone: Tone }): string {
  return HAS_COLOUR ? `\x1b[${COLOURS[tone]}m${text}\x1b[0m` : text;
}

function dim(text: string): string {
  return paint({ text, tone: 'plain' });
}

/** Prints lines; on a terminal a table stays below them. */
export class Screen {
  readonly #block: LiveBlock;
  #rows: Rows = new Map();

  /**
   * @param title - stands over the table
   */
  constructor(out: NodeJS.WriteStream, title: string) {
    this.#block = new LiveBlock(out, ({ columns, rows }) => {
      if (this.#rows.size === 0) return [];
      return ['', dim(title.slice(0, columns - 1)), ...draw(this.#rows, { columns, lines: rows - 3, now: Date.now() }).map(paint)];
    });
  }

  /** A line of our own. */
  print(line: string): void {
    this.#block.print(`${new Date().toISOString().slice(11, 23)}  ${line}`);
  }

  /** What processes have printed. */
  show(lines: readonly Line[]): void {
    for (const { name, text } of lines) this.#block.print(`${name} | ${text}`);
  }

  table(rows: Rows): void {
    this.#rows = rows;
    this.#block.refresh();
  }

  /** Draws the table anew, for what it says of times has changed. */
  refresh(): void {
    if (this.#rows.size > 0) this.#block.refresh();
  }

  /** The last lines, and the table as it is when all has ended: it stays. */
  close(): void {
    const ended = ([id, row]: readonly [string, Row]) =>
      [id, { ...row, running: 0, pids: [], since: undefined, nextTry: undefined }] as const;
    this.#rows = new Map([...this.#rows].map(ended));
    this.#block.flush();
  }
}
