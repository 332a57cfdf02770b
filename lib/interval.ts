import { isDelay } from '../operators/errors.js';
import { expected } from '../operators/expected.js';

/** @throws TypeError if `value` is no time in ms that can be waited for and is more than nothing */
export function checkInterval(field: string, value: unknown): void {
  expected(field, value, 'a finite number of ms > 0', isDelay(value) && value > 0);
}
