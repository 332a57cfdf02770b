import { type Observer, type SubjectLike, Subscription } from 'rxjs';

/**
 * A Subject for one observer: what `groupBy` needs for a group that is subscribed to once, as soon as it is there. A real
 * one makes a closure and an iterator for each value, which costs as much as routing it does.
 */
export class UnicastSubject<T> implements SubjectLike<T> {
  #observer: Partial<Observer<T>> = {};

  /** The observer is a subscriber, which once it is closed hears nothing: there is nothing to be let go of here. */
  subscribe(observer: Partial<Observer<T>>): Subscription {
    this.#observer = observer;
    return Subscription.EMPTY;
  }

  next(value: T): void {
    this.#observer.next?.(value);
  }

  error(error: unknown): void {
    this.#observer.error?.(error);
  }

  complete(): void {
    this.#observer.complete?.();
  }
}
