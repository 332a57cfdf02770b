import { from, Observable, type ObservableInput, type Subscribable } from 'rxjs';

/** Where our copy of rxjs keeps its Observable side, unless it was loaded before somebody defined the symbol. */
const OBSERVABLE = (Symbol as { readonly observable?: symbol }).observable;

/** Whether {@link toObservable} takes `value`. Recognised by behaviour: it may come from another copy of rxjs (B5). Strings do not count. */
export function isObservableInput(value: unknown): value is ObservableInput<unknown> {
  return isPromiseLike(value) || isAsyncIterable(value) || isObservableLike(value) || has(value, Symbol.iterator);
}

/** rxjs's `from`, that takes an Observable of any other copy too, wherever that keeps its Observable side. */
export function toObservable<T>(input: ObservableInput<T>): Observable<T> {
  if (isOurs(input)) return input;
  const other = otherSide(input);
  return other === undefined ? from(input) : new Observable((subscriber) => other().subscribe(subscriber));
}

/** Whether it needs no looking at: most are of our own copy of rxjs. */
export function isOurs(input: unknown): input is Observable<never> {
  // eslint-disable-next-line no-restricted-syntax -- not to recognise one, but to spare ours the way around
  return input instanceof Observable;
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
  return otherSide(value) !== undefined || has(value, 'getReader');
}

/**
 * `Symbol.observable` may have been defined after our copy of rxjs was loaded, and before another, so it is looked up whenever
 * it is needed. What can be subscribed to and piped is an Observable as well.
 */
function otherSide(value: unknown): (() => Subscribable<never>) | undefined {
  const { observable } = Symbol as { readonly observable?: symbol };
  for (const side of [observable, OBSERVABLE, '@@observable'])
    if (side !== undefined && has(value, side))
      return () => (value as Record<PropertyKey, () => Subscribable<never>>)[side]?.() as Subscribable<never>;
  return has(value, 'subscribe') && has(value, 'pipe') ? () => value as Subscribable<never> : undefined;
}

function has(value: unknown, method: PropertyKey): boolean {
  return isObject(value) && typeof (value as Record<PropertyKey, unknown>)[method] === 'function';
}

function isObject(value: unknown): boolean {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}
