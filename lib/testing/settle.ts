/**
 * Law T6 has one exception, and this is it. Promise jobs run before the next macrotask, and nothing else tells when they
 * are done: no number of `await`s does, for a job may add another. It is no time source, for no delay is asked for.
 * Taken when this file is loaded, so that fake timers do not stop it.
 */
// eslint-disable-next-line no-restricted-globals -- see above
const macrotask = setImmediate;

/** Resolves when all promise jobs have run, those that they add included. */
export function settle(): Promise<void> {
  return new Promise((resolve) => {
    macrotask(resolve);
  });
}
