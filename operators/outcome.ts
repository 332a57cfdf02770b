import { isDelay } from './errors.js';
import { shown } from './expected.js';
import { isAsyncIterable, isObservableLike, isPromiseLike } from './observable-input.js';
import type { Failure } from './types.js';

/** How a run ended: well, with 0 or the ms after which it wants to run again; or with a failure. */
export type Outcome = { readonly failure?: undefined; readonly requeueDelay: number } | Failed;

export interface Failed {
  readonly failure: Failure;
  readonly error: unknown;
}

const DONE: Outcome = { requeueDelay: 0 };

/** Reads a reconciler's last value (R1, T3). Never throws: a value that cannot be read is an odd one. */
export function outcomeOf(value: unknown): Outcome {
  if (value === undefined || value === null) return DONE;
  try {
    if (!isResult(value)) return invalid(`a reconciler to answer nothing or a Result ({ requeueDelay?, error? }), got ${shown(value)}`);
    const { error, requeueDelay } = value;
    if (error !== undefined) return { failure: 'reported', error };
    if (requeueDelay === undefined) return DONE;
    if (!isDelay(requeueDelay)) return invalid(`\`requeueDelay\` to be a finite number of ms >= 0, got ${shown(requeueDelay)}`);
    return { requeueDelay };
  } catch (error) {
    return { failure: 'invalid', error };
  }
}

function invalid(expectation: string): Failed {
  return { failure: 'invalid', error: new TypeError(`Expected ${expectation}`) };
}

/** An object, but none that stands for something else: taking an Error or a nested promise for "done" would lose it. */
function isResult(value: unknown): value is { readonly error?: unknown; readonly requeueDelay?: unknown } {
  return (
    typeof value === 'object' &&
    !Array.isArray(value) &&
    !(value instanceof Error) &&
    !isPromiseLike(value) &&
    !isAsyncIterable(value) &&
    !isObservableLike(value)
  );
}
