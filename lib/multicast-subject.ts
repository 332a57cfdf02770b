import { Observable, type Subscriber } from 'rxjs';

/** A Subject that makes no closure and no iterator for each value: these cost more than a run, whoever listens. */
export class MulticastSubject<T> {
  #listeners: readonly Subscriber<T>[] = [];
  #isOver = false;

  readonly values = new Observable<T>((listener) => {
    if (this.#isOver) listener.complete();
    // A new list each time: one that joins or leaves while a value is being told must not disturb the others.
    this.#listeners = [...this.#listeners, listener];
    return () => {
      this.#listeners = this.#listeners.filter((other) => other !== listener);
    };
  });

  next(value: T): void {
    for (const listener of this.#listeners) listener.next(value);
  }

  complete(): void {
    this.#isOver = true;
    for (const listener of this.#listeners) listener.complete();
  }
}
