import type { Observer, SubjectLike, Unsubscribable } from 'rxjs';

/**
 * A Subject for one observer: what `groupBy` needs for a group that is subscribed to once, as soon as it is there. A real
 * one makes a closure and an iterator for each value, which costs as much as routing it does.
 */
export class Conduit<T> implements SubjectLike<T> {
  #observer: Partial<Observer<T>> | undefined;

  subscribe(observer: Partial<Observer<T>>): Unsubscribable {
    this.#observer = observer;
    return {
      unsubscribe: () => {
        this.#observer = undefined;
      },
    };
  }

  next(value: T): void {
    this.#observer?.next?.(value);
  }

  error(error: unknown): void {
    this.#observer?.error?.(error);
  }

  complete(): void {
    this.#observer?.complete?.();
  }
}
