import type { Subscriber } from 'rxjs';
import { captureAsyncContext } from './async-context.js';
import { Fifo } from './fifo.js';
import { SerializedObserver } from './serialized-observer.js';
import type { Step } from './types.js';

/**
 * On which the lanes of a loop take their turns, one after the other (B2). Whoever changes state pushes the steps of it and then
 * flushes: no turn begins before all steps before it have been seen (A5).
 */
export class Trampoline extends SerializedObserver {
  readonly #turns = new Fifo<() => void>();
  #isRunning = false;
  /** What users wrote runs in the context of the subscription, not in that of whoever sends an event (F2). */
  readonly #context = captureAsyncContext();
  /** What is called in it: made once, as it is needed for each event. */
  readonly #bounce = (): void => {
    this.#run(undefined);
  };

  /** @param idle - called whenever nothing is left to deliver and no turn to be taken */
  constructor(
    subscriber: Subscriber<Step>,
    readonly idle: () => void,
  ) {
    super(subscriber);
  }

  /** Pushes one step and flushes. */
  emit(step: Step): void {
    this.push(step);
    this.flush();
  }

  /** Nobody listens any longer: nothing must start. */
  get isClosed(): boolean {
    return this.subscriber.closed;
  }

  /** Asks for a turn, which is taken at the next flush. */
  ask(turn: () => void): void {
    this.#turns.push(turn);
  }

  /** Delivers what was pushed, and takes the turns that this or others ask for, unless further up the stack someone does. */
  flush(turn?: () => void): void {
    if (turn !== undefined) this.#turns.push(turn);
    if (this.isDelivering || this.#isRunning) this.deliver();
    else this.#context.runInAsyncScope(this.#bounce);
  }

  /** As `flush`, for one who is in the context of the loop: what it has awaited there has settled. */
  goOn(turn: () => void): void {
    if (this.isDelivering || this.#isRunning) this.flush(turn);
    else this.#run(turn);
  }

  /** Does `work`, and takes turns only then: one that begins before the end of a run's teardown would be early. */
  hold(work: () => void): void {
    if (this.isDelivering || this.#isRunning) {
      work();
      return;
    }
    this.#context.runInAsyncScope(() => {
      this.#isRunning = true;
      try {
        work();
      } finally {
        this.#isRunning = false;
      }
      this.#run(undefined);
    });
  }

  /** Does `work`, and delivers only then what it has pushed. */
  override holdBack(work: () => void): void {
    this.#context.runInAsyncScope(() => {
      super.holdBack(work);
      this.flush();
    });
  }

  #run(turn: (() => void) | undefined): void {
    this.#isRunning = true;
    for (let next = turn; ; next = undefined) {
      this.deliver();
      next ??= this.#turns.shift();
      if (next === undefined) break;
      if (!this.isClosed) next();
    }
    this.#isRunning = false;
    this.moment = NaN;
    this.idle();
  }
}
