import type { Step } from '../../operators/types.js';
import { draw, Legend } from './diagram.js';
import { least } from './extremes.js';
import { KINDS } from './steps-expectation.js';

/**
 * Draws steps as marbles, one row a kind, for failure messages, logs and incident reports. The first step is at 0, and 1
 * frame is 1 ms of `step.at`. Each row can be pasted into `expectSteps`; ids longer than one character get letters, and
 * the last line says which.
 *
 * @returns the rows, or `''` if there are no steps
 * @example
 * console.log(toMarbles(steps));
 * // enqueued   a 249ms a
 * // started    a 249ms a
 * // requeued   a
 * // succeeded    249ms a
 * // where a = web
 */
export function toMarbles(steps: Iterable<Step>): string {
  const all = [...steps];
  if (all.length === 0) return '';
  // A clock that was set back must not turn the picture round.
  const start = least(all.map(({ at }) => at));
  const legend = new Legend().announce(all.map(({ id }) => id));
  const kinds = KINDS.filter((kind) => all.some((step) => step.kind === kind));
  const rows = kinds.map((kind) => ({
    values: all.filter((step) => step.kind === kind).map(({ id, at }) => ({ frame: at - start, symbol: legend.symbolOf(id) })),
  }));
  const { lines } = draw(rows);
  return [
    ...lines.map((line, i) => `${(kinds[i] as string).padEnd(11)}${line}`),
    ...(legend.toString() === '' ? [] : [`where ${legend.toString()}`]),
  ].join('\n');
}
