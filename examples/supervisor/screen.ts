import { auditTime, Subject } from 'rxjs';
import type { Line } from './logs.js';
import { draw, type Rows } from './table.js';

/** How often, in ms, the screen changes at most. */
const FRAME = 100;
/** Terminals that know it show all between the two at once; others ignore it. */
const [BEGIN, END] = ['\x1b[?2026h', '\x1b[?2026l'];

/** Prints lines; on a terminal a table stays below them. */
export class Screen {
  readonly #dirty = new Subject<void>();
  #lines: string[] = [];
  #rows: Rows = new Map();
  /** How many lines of the table stand on the terminal. */
  #height = 0;

  constructor(readonly out: NodeJS.WriteStream) {
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

  /** The last lines, and no table any more. */
  close(): void {
    this.#rows = new Map();
    this.flush();
  }

  /** In one write, the table over itself: nothing flickers. */
  flush(): void {
    if (!this.out.isTTY) return;
    const { columns, rows } = this.out;
    const table = this.#rows.size === 0 ? [] : ['', ...draw(this.#rows, { columns, lines: rows - 2 })];
    const up = this.#height > 0 ? `\x1b[${this.#height}A` : '';
    const lines = [...this.#lines, ...table.map((line) => `\x1b[2m${line}\x1b[0m`)];
    this.out.write(`${BEGIN}${up}\r\x1b[0J${lines.map((line) => `${line}\n`).join('')}${END}`);
    this.#lines = [];
    this.#height = table.length;
  }
}
