/* eslint-disable @typescript-eslint/no-deprecated, rxjs-x/no-subclass -- `lift` is the only way to hold also for what is piped from it */
import { Observable, type Observer, type Operator, type Subscription } from 'rxjs';

/**
 * `source`, for observers who may throw: `onError` is told, and the process lives on, where rxjs would rethrow the error
 * so that nobody can catch it. It holds too for what stock operators make of it.
 */
export class Guarded<T> extends Observable<T> {
  readonly #onError: (error: unknown) => void;

  constructor(source: Observable<unknown>, onError: (error: unknown) => void, operator?: Operator<unknown, T>) {
    super();
    this.source = source;
    this.operator = operator;
    this.#onError = onError;
  }

  override lift<R>(operator?: Operator<T, R>): Observable<R> {
    return new Guarded<R>(this, this.#onError, operator);
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
    const guarded = (act: () => void): void => {
      try {
        act();
      } catch (error) {
        this.#onError(error);
      }
    };
    return super.subscribe({
      next: (value) => {
        guarded(() => observer.next?.(value));
      },
      error: (error: unknown) => {
        if (observer.error) guarded(() => observer.error?.(error));
        else this.#onError(error);
      },
      complete: () => {
        guarded(() => observer.complete?.());
      },
    });
  }
}
