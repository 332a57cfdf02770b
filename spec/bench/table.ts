import type { Case } from './case.js';
import { LATE } from './run.js';
import { medianOf, ratioOf, type Rounds } from './statistics.js';

/** One case as lines of a table, a contender a line: medians, and ratios to the baseline; for layers, to what is below them. */
export function table(
  { title, columns, baseline, limit }: Case,
  results: ReadonlyMap<string, Rounds>,
  layerOver: (contender: string) => string | undefined,
): string {
  const base = baseline === undefined ? undefined : results.get(baseline);
  const header = ['', ...columns.flatMap(({ label }) => (base === undefined ? [label] : [label, `x ${baseline}`]))];
  const late = (contender: string): string[] => [`${contender}: did not end in ${limit} s`, ...header.slice(1).map(() => '')];
  const figures = (contender: string, rounds: Rounds): string[] => [
    contender,
    ...columns.flatMap(({ key, digits }) => {
      const figure = shown(medianOf(rounds, key), digits);
      if (base === undefined) return [figure];
      const under = layerOver(contender);
      const ratio = shown(ratioOf(rounds, results.get(under ?? '') ?? base, key), 2);
      return [figure, under === undefined ? ratio : `${ratio} (x ${under})`];
    }),
  ];
  const rows = [...results].map(([contender, rounds]) => (rounds.includes(LATE) ? late(contender) : figures(contender, rounds)));
  const widths = header.map((_, i) => Math.max(...[header, ...rows].map((row) => row[i]!.length)));
  const lines = [header, ...rows].map((row) =>
    row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))).join('  '),
  );
  return [title, ...lines.map((line) => `  ${line}`)].join('\n');
}

function shown(value: number, digits: number): string {
  return Number.isNaN(value) ? 'fails' : value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}
