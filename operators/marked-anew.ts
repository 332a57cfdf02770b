import type { Step } from './types.js';

/**
 * Where the marks of one run part that `discard` has parted, as its steps do not show: the first `merged` after a discard, and the
 * `dropped` of the mark before it. Weak and by the step, so that it costs those nothing who do not discard.
 */
export const markedAnew = new WeakSet<Step>();
