/* eslint-disable rxjs-x/no-subclass -- nothing else can hold also for what is piped from it */
import { Observable, type Observer, type OperatorFunction, type Subscription } from 'rxjs';
import { safely } from './observability/safely.js';

/**
 * `observed`, for observers who may throw: `onError` gets the error, and the process goes on, where rxjs would rethrow the error
 * so that nobody can catch it.
 *
 * That holds for the callbacks given to `subscribe`, here and on what `pipe` returns (those that are async functions and
 * reject included), and for the callbacks of the operators in that pipe. It does not hold for an Observable that is made of this one
 * by other means, such as `merge(steps, other)`, `from` or `new Observable`: there the rules of rxjs hold.
 */
export class SafeObservable<T> extends Observable<T> {
  readonly #onError: (error: unknown) => void;

  constructor(observed: Observable<T>, onError: (error: unknown) => void) {
    super((subscriber) => observed.subscribe(subscriber));
    this.#onError = onError;
  }

  override pipe(...operators: readonly OperatorFunction<never, never>[]): SafeObservable<never> {
    return new SafeObservable(super.pipe(...(operators as [])) as Observable<never>, this.#onError);
  }

  override subscribe(
    observerOrNext?: Partial<Observer<T>> | ((value: T) => void) | null,
    error?: ((error: unknown) => void) | null,
    complete?: (() => void) | null,
  ): Subscription {
    // The subscribers of operators pass: they guard themselves, and are ended by the one at the end of the pipe.
    // eslint-disable-next-line rxjs-x/no-ignored-error -- not ignored, passed on
    if (observerOrNext && 'add' in observerOrNext) return super.subscribe(observerOrNext);
    const observer =
      typeof observerOrNext === 'object' && observerOrNext !== null
        ? observerOrNext
        : { next: observerOrNext ?? undefined, error: error ?? undefined, complete: complete ?? undefined };
    const tell = this.#onError;
    return super.subscribe({
      next: safely((value: T) => observer.next?.(value), tell),
      error: observer.error ? safely((error: unknown) => observer.error?.(error), tell) : tell,
      complete: safely<void>(() => observer.complete?.(), tell),
    });
  }
}
