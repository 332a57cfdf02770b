import type { Case } from './case.js';
import { medianOf, ratioOf, type Rounds } from './statistics.js';

/** One case as lines of a table, a contender a line: medians, and ratios to the baseline. */
export function table({ title, columns, baseline }: Case, results: ReadonlyMap<string, Rounds>): string {
  const base = baseline === undefined ? undefined : results.get(baseline);
  const header = ['', ...columns.flatMap(({ label }) => (base === undefined ? [label] : [label, `x ${baseline}`]))];
  const rows = [...results].map(([contender, rounds]) => [
    contender,
    ...columns.flatMap(({ key, digits }) => {
      const figure = shown(medianOf(rounds, key), digits);
      return base === undefined ? [figure] : [figure, shown(ratioOf(rounds, base, key), 2)];
    }),
  ]);
  const widths = header.map((_, i) => Math.max(...[header, ...rows].map((row) => row[i]!.length)));
  const lines = [header, ...rows].map((row) => row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))).join('  '));
  return [title, ...lines.map((line) => `  ${line}`)].join('\n');
}

function shown(value: number, digits: number): string {
  return Number.isNaN(value) ? 'fails' : value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}
