import type { Subscriber } from 'rxjs';
import { Fifo } from './fifo.js';

/**
 * In front of a subscriber, which gets one value at a time, in the order in which they were pushed: what it causes meanwhile waits
 * behind those that are there already (A5), and the stack does not grow (B2).
 */
export class SerializedObserver<T> {
  readonly #values = new Fifo<T>();
  /** A value is being delivered, further up the stack. */
  protected isDelivering = false;
  /** The value that was delivered last. Whoever sees that all it has caused is over sets it to `undefined`. */
  last: T | undefined = undefined;

  constructor(readonly subscriber: Subscriber<T>) {}

  /** Puts a value behind those that have not been delivered yet. */
  push(value: T): void {
    this.#values.push(value);
  }

  /** Delivers what was pushed, unless that is going on already. */
  deliver(): void {
    if (this.isDelivering) return;
    this.isDelivering = true;
    for (let value = this.#values.shift(); value !== undefined; value = this.#values.shift()) {
      this.last = value;
      this.subscriber.next(value);
    }
    this.isDelivering = false;
  }

  /** Does `work`, and delivers nothing meanwhile. */
  holdBack(work: () => void): void {
    const { isDelivering } = this;
    this.isDelivering = true;
    work();
    this.isDelivering = isDelivering;
  }
}
