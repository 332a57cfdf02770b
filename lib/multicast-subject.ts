import { Observable, type Subscriber } from 'rxjs';
import { report } from '../operators/report.js';

/**
 * A Subject that makes no closure and no iterator for each value: these cost more than a run, whoever listens. A listener
 * that throws, as one whose teardown throws does when it completes, is reported to `onError`, and the others hear all the same.
 */
export class MulticastSubject<T> {
  #listeners: readonly Subscriber<T>[] = [];
  #isOver = false;

  readonly values = new Observable<T>((listener) => {
    if (this.#isOver) listener.complete();
    // A new list each time: one that joins or leaves while a value is being delivered must not disturb the others.
    this.#listeners = [...this.#listeners, listener];
    return () => {
      this.#listeners = this.#listeners.filter((other) => other !== listener);
    };
  });

  constructor(readonly onError: (error: unknown) => void = report) {}

  next(value: T): void {
    for (const listener of this.#listeners) {
      try {
        listener.next(value);
      } catch (error) {
        this.onError(error);
      }
    }
  }

  complete(): void {
    this.#isOver = true;
    for (const listener of this.#listeners) {
      try {
        listener.complete();
      } catch (error) {
        this.onError(error);
      }
    }
  }
}
