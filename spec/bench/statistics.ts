import type { Figures } from './case.js';

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

export type Rounds = readonly (Figures | undefined)[];

/** The median of `key` over the rounds; `NaN` if a round broke down. */
export function medianOf(rounds: Rounds, key: string): number {
  return median(rounds.map((figures) => figures?.[key] ?? NaN));
}

/** The median over the rounds of the ratio within a round, for what else the machine did in that round is common to both. */
export function ratioOf(rounds: Rounds, baseline: Rounds, key: string): number {
  return median(rounds.map((figures, i) => (figures?.[key] ?? NaN) / (baseline[i]?.[key] ?? NaN)));
}
