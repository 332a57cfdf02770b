import type { ObservableInput } from 'rxjs';

/** Where another copy of rxjs, or another library, keeps its Observable side; rxjs falls back to the string as well. */
const OBSERVABLE: PropertyKey = (typeof Symbol === 'function' && (Symbol as { observable?: symbol }).observable) || '@@observable';

/** Whether rxjs's `from` takes `value`. Recognised by behaviour: it may come from another copy of rxjs (B5). Strings do not count. */
export function isObservableInput(value: unknown): value is ObservableInput<unknown> {
  return isPromiseLike(value) || isAsyncIterable(value) || isObservableLike(value) || has(value, Symbol.iterator);
}

export function isPromiseLike(value: unknown): value is PromiseLike<unknown> {
  // As a literal: this is asked after each run.
  return isObject(value) && typeof (value as { then?: unknown }).then === 'function';
}

export function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return has(value, Symbol.asyncIterator);
}

/** Anything with an Observable side, or a web stream. */
export function isObservableLike(value: unknown): boolean {
  return has(value, OBSERVABLE) || has(value, '@@observable') || has(value, 'getReader');
}

function has(value: unknown, method: PropertyKey): boolean {
  return isObject(value) && typeof (value as Record<PropertyKey, unknown>)[method] === 'function';
}

function isObject(value: unknown): boolean {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}
