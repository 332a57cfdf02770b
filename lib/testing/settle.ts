/**
 * Law T6 has one exception, and this is it. Promise jobs run before the next macrotask, and nothing else says when they
 * are done: no number of `await`s does, for a job may add another. Fake timers replace neither of the two, whenever they are
 * installed.
 */
// eslint-disable-next-line no-restricted-imports -- see above
import { scheduler } from 'node:timers/promises';

/** Resolves when all promise jobs have run, those that they add included. */
export function settle(): Promise<void> {
  return scheduler.yield();
}

/** Resolves when the timers that were set before without a delay have run: RxJS throws with one what an observer has thrown. */
export function settleTimers(): Promise<void> {
  return scheduler.wait(1);
}
