import type { Subscriber } from 'rxjs';
import { Fifo } from './fifo.js';
import type { Step } from './types.js';

/**
 * In front of a subscriber, which gets one step at a time, in the order in which they were pushed: what it causes meanwhile waits
 * behind those that are there already (A5), and the stack does not grow (B2).
 */
export class SerializedObserver {
  readonly #steps = new Fifo<Step>();
  /** A step is being delivered, further up the stack. */
  protected isDelivering = false;
  /** When that happened which was delivered last. Whoever sees that all it has caused is over sets it to `NaN`. */
  moment = NaN;

  constructor(readonly subscriber: Subscriber<Step>) {}

  /** Puts a step behind those that have not been delivered yet. */
  push(step: Step): void {
    this.#steps.push(step);
  }

  /** Delivers what was pushed, unless that is going on already. */
  deliver(): void {
    if (this.isDelivering) return;
    this.isDelivering = true;
    for (let step = this.#steps.shift(); step !== undefined; step = this.#steps.shift()) {
      this.moment = step.at;
      this.subscriber.next(step);
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
