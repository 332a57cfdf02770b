import { isDelay } from '../operators/errors.js';
import { expected } from '../operators/expected.js';

/** In ms. PostgreSQL takes times of up to 24 days, and some of ours are the sum of three. */
export const A_WEEK = 604_800_000;

/** @throws TypeError if `value` is no time in ms that can be waited for and is more than nothing, or is above `longest` */
export function checkInterval(field: string, value: unknown, longest = Infinity): void {
  expected(field, value, 'a finite number of ms > 0', isDelay(value) && value > 0);
  expected(field, value, `at most ${String(longest)} ms`, (value as number) <= longest);
}
