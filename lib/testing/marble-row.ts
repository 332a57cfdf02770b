import { shown } from '../../operators/shown.js';

/** A row of marbles: what is on it and when, in frames of 1 ms. */
export interface MarbleRow {
  readonly values: readonly { readonly frame: number; readonly symbol: string }[];
  readonly end?: { readonly frame: number; readonly symbol: '|' | '#' } | undefined;
  /** How many frames it takes: the first that is not on it. */
  readonly length: number;
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000 };

/**
 * Reads a row in the syntax of `TestScheduler.run`: `-` is 1 ms, `(ab)` is both at once, ` 9ms ` lets time pass, blanks
 * only align, `|` completes and `#` fails.
 *
 * @throws TypeError if the row cannot be read
 */
export function parseRow(name: string, row: string): MarbleRow {
  const fail = (expectation: string): TypeError => new TypeError(`Expected the row \`${name}\` to ${expectation}, got ${shown(row)}`);
  if (typeof (row as unknown) !== 'string') throw fail('be a string of marbles');
  const symbols = Array.from(row);
  const values: { frame: number; symbol: string }[] = [];
  let end: MarbleRow['end'];
  let frame = 0;
  let group: number | undefined;
  for (let i = 0; i < symbols.length; i++) {
    const symbol = symbols[i] as string;
    if (symbol === ' ') continue;
    const time = i === 0 || symbols[i - 1] === ' ' ? /^(\d+(?:\.\d+)?)(ms|s|m) /.exec(symbols.slice(i).join('')) : null;
    if (time !== null) {
      frame += Number(time[1]) * (UNITS[time[2] as string] as number);
      i += time[0].length - 1;
      continue;
    }
    if (symbol === '(' && group === undefined) group = frame;
    else if (symbol === ')' && group !== undefined) group = undefined;
    else if ('()'.includes(symbol)) throw fail('have its brackets in pairs');
    else if ('^!'.includes(symbol)) throw fail('have no subscription marks');
    else if (symbol === '|' || symbol === '#') {
      if (end !== undefined) throw fail('end once');
      end = { frame: group ?? frame, symbol };
    } else if (symbol !== '-') {
      if (end !== undefined) throw fail('have nothing behind its end');
      values.push({ frame: group ?? frame, symbol });
    }
    frame++;
  }
  if (group !== undefined) throw fail('have its brackets in pairs');
  return { values, end, length: frame };
}

/** How many frames a row of any kind takes, subscription marks allowed: they, too, are one frame wide. */
export function lengthOf(row: string): number {
  return parseRow('', row.replace(/[\^!|#]/gu, '-')).length;
}
