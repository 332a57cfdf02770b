import { isDelay } from './check.js';
import { shown } from './shown.js';
import { isObservableInput } from './observable-input.js';
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
    // Go's nil, which clients answer as `{ data, error: null }`.
    if (error !== undefined && error !== null) return { failure: 'reported', error };
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

/** A plain object of any realm: taking an Error, a nested promise or a response for "done" would lose it. */
function isResult(value: unknown): value is { readonly error?: unknown; readonly requeueDelay?: unknown } {
  if (typeof value !== 'object' || value === null || isObservableInput(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  const isPlain = prototype === null || prototype === Object.prototype || isObjectPrototype(prototype);
  return isPlain && Object.prototype.toString.call(value) === '[object Object]';
}

/** Of another realm, where `Object.prototype` is another. */
function isObjectPrototype(prototype: unknown): boolean {
  return Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype as object, 'isPrototypeOf');
}
