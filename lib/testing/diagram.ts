import { greatest } from './extremes.js';
import type { MarbleRow } from './marble-row.js';

/** A gap longer than this is written as a number of ms. */
const LONGEST_DASHES = 8;

/** Rows of marbles under each other. */
export interface Diagram {
  readonly lines: readonly string[];
  /** The column in which the marbles of `frame` begin; `frame` must be one at which a row has one. */
  readonly columnOf: (frame: number) => number;
}

/**
 * Draws rows under each other: what is at the same time stands in the same column, and each line can be read back as a row.
 * Only where more marbles share a moment than there are ms to the next on that row is a line not to scale: a `(ab)` is
 * four frames wide.
 */
export function draw(rows: readonly Pick<MarbleRow, 'values' | 'end'>[]): Diagram {
  const cells = rows.map(cellsOf);
  const frames = [...new Set([0, ...cells.flatMap((row) => [...row.keys()])])].sort((a, b) => a - b);
  const lines = rows.map(() => '');
  /** The last frame of each row. */
  const ends = cells.map((row) => greatest(row.keys()));
  const columns = new Map<number, number>();
  /** How far a line is ahead of its time, in frames. */
  const ahead = rows.map(() => 0);
  let column = 0;
  frames.forEach((frame, i) => {
    columns.set(frame, column);
    const span = (frames[i + 1] ?? frame) - frame;
    rows.forEach((_, row) => {
      const cell = cells[row]?.get(frame) ?? '';
      const gap = span - cell.length - (ahead[row] as number);
      ahead[row] = Math.max(-gap, 0);
      lines[row] = (lines[row] as string).padEnd(column) + cell + (frame >= (ends[row] as number) ? '' : pause(gap));
    });
    column = greatest(lines.map((line) => line.length));
  });
  return { lines: lines.map((line) => line.trimEnd()), columnOf: (frame) => columns.get(frame) ?? column };
}

function cellsOf({ values, end }: Pick<MarbleRow, 'values' | 'end'>): Map<number, string> {
  const symbols = new Map<number, string[]>();
  for (const { frame, symbol } of end === undefined ? values : [...values, end]) {
    const all = symbols.get(frame);
    if (all === undefined) symbols.set(frame, [symbol]);
    else all.push(symbol);
  }
  return new Map([...symbols].map(([frame, all]) => [frame, all.length === 1 ? (all[0] as string) : `(${all.join('')})`]));
}

function pause(frames: number): string {
  if (frames <= 0) return '';
  return frames <= LONGEST_DASHES ? '-'.repeat(frames) : ` ${String(frames)}ms `;
}

/** One symbol for each thing: a single character that means nothing else is its own; the others get letters. */
export class Legend {
  readonly #symbols = new Map<string, string>();
  readonly #given = new Map<string, string>();

  /** @param given - what symbols stand for, where that is known */
  constructor(given: Readonly<Record<string, string>> = {}) {
    for (const [symbol, thing] of Object.entries(given)) this.#given.set(thing, symbol);
  }

  /** Says beforehand what there will be, so that no letter is taken twice. */
  announce(things: Iterable<string>): this {
    const names = new Set(things);
    for (const thing of names) {
      const own = this.#given.get(thing) ?? thing;
      if (isSymbol(own)) this.#symbols.set(thing, own);
    }
    const taken = new Set(this.#symbols.values());
    const free = letters(taken);
    for (const thing of names) if (!this.#symbols.has(thing)) this.#symbols.set(thing, free.next().value as string);
    return this;
  }

  symbolOf(thing: string): string {
    return this.#symbols.get(thing) ?? '?';
  }

  /** `a = web, b = db`, or `''` if each is its own symbol. */
  toString(): string {
    return [...this.#symbols]
      .filter(([thing, symbol]) => thing !== symbol)
      .map(([thing, symbol]) => `${symbol} = ${thing === '' ? 'the loop, or no id' : thing}`)
      .join(', ');
  }
}

function isSymbol(text: string): boolean {
  return Array.from(text).length === 1 && !' -()|#^!'.includes(text) && !/\s/u.test(text);
}

function* letters(taken: ReadonlySet<string>): Generator<string> {
  for (const letter of 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ') if (!taken.has(letter)) yield letter;
  for (let point = 0x100; ; point++) if (!taken.has(String.fromCodePoint(point))) yield String.fromCodePoint(point);
}
