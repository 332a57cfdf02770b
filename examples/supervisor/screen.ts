import { auditTime, Subject } from 'rxjs';
import type { Line } from './logs.js';
import { draw, type Row, type Rows, type Tone } from './table.js';

/** How often, in ms, the screen changes at most. */
const FRAME = 100;
/** Terminals that know it show all between the two at once; others ignore it. */
const [BEGIN, END] = ['\x1b[?2026h', '\x1b[?2026l'];

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
  readonly #dirty = new Subject<void>();
  #lines: string[] = [];
  #rows: Rows = new Map();
  /** How many lines of the table stand on the terminal. */
  #height = 0;

  /**
   * @param title - stands over the table
   */
  constructor(
    readonly out: NodeJS.WriteStream,
    readonly title: string,
  ) {
    this.#dirty.pipe(auditTime(FRAME)).subscribe(() => {
      this.flush();
    });
  }

  /** A line of our own. */
  print(line: string): void {
    this.#add(`${new Date().toISOString().slice(11, 23)}  ${line}`);
  }

  /** What processes have printed. */
  show(lines: readonly Line[]): void {
    for (const { name, text } of lines) this.#add(`${name} | ${text}`);
  }

  table(rows: Rows): void {
    this.#rows = rows;
    if (this.out.isTTY) this.#dirty.next();
  }

  #add(line: string): void {
    if (this.out.isTTY) {
      this.#lines.push(line);
      this.#dirty.next();
    } else {
      this.out.write(`${line}\n`);
    }
  }

  /** Draws the table anew, for what it says of times has changed. */
  refresh(): void {
    if (this.out.isTTY && this.#rows.size > 0) this.#dirty.next();
  }

  /** The last lines, and the table as it is when all has ended: it stays. */
  close(): void {
    const ended = ([id, row]: readonly [string, Row]) =>
      [id, { ...row, running: 0, pids: [], since: undefined, nextTry: undefined }] as const;
    this.#rows = new Map([...this.#rows].map(ended));
    this.flush();
  }

  /** In one write, the table over itself: nothing flickers. */
  flush(): void {
    if (!this.out.isTTY) return;
    const { columns, rows } = this.out;
    const drawn = draw(this.#rows, { columns, lines: rows - 3, now: Date.now() });
    const table = this.#rows.size === 0 ? [] : ['', dim(this.title.slice(0, columns - 1)), ...drawn.map(paint)];
    const up = this.#height > 0 ? `\x1b[${this.#height}A` : '';
    const lines = [...this.#lines, ...table];
    this.out.write(`${BEGIN}${up}\r\x1b[0J${lines.map((line) => `${line}\n`).join('')}${END}`);
    this.#lines = [];
    this.#height = table.length;
  }
}
