import { type SchedulerAction, type SchedulerLike, Subscription } from 'rxjs';
import { TimerQueue } from './timer-queue.js';
import type { HeapNode } from '../../operators/heap.js';

/** Something that is due at a moment of virtual time. Whoever has many of them makes a class of it instead of closures. */
export interface Timer extends HeapNode {
  run(): void;
}

/**
 * A scheduler whose time passes only when it is told to: nothing runs but in {@link VirtualScheduler.runNext}. What is due
 * at the same time runs in the order in which it was scheduled. Its wall clock can be set without moving what is due, as
 * a real one can.
 */
export class VirtualScheduler implements SchedulerLike {
  readonly #timers = new TimerQueue<Timer>();
  #elapsed = 0;
  #wallClock = 0;
  #count = 0;

  /** The wall clock, in ms. */
  now(): number {
    return this.#wallClock + this.#elapsed;
  }

  /** How much virtual time has passed, in ms, whatever was done to the wall clock. */
  get elapsed(): number {
    return this.#elapsed;
  }

  /** When the next thing is due, as `elapsed`; Infinity if nothing is. */
  get next(): number {
    return this.#timers.peek()?.due ?? Infinity;
  }

  /** How many things are due some time. */
  get size(): number {
    return this.#timers.size;
  }

  /** Sets the wall clock forward or, if `ms` is below 0, back. */
  stepClock(ms: number): void {
    this.#wallClock += ms;
  }

  /** Runs `work` after `delay` ms of virtual time. */
  schedule<T>(work: (this: SchedulerAction<T>, state?: T) => void, delay = 0, state?: T): Subscription {
    return new VirtualAction(this, work).schedule(state, delay);
  }

  /** Calls `run` after `delay` ms: `schedule` for those who need no subscription. */
  after(delay: number, run: () => void): Timer {
    return this.add(delay, { due: 0, order: 0, index: -1, run });
  }

  /** Runs `timer`, which must not be waiting already, after `delay` ms. */
  add<T extends Timer>(delay: number, timer: T): T {
    timer.order = this.#count++;
    if (delay > 0) {
      this.addAgain(delay, timer);
    } else {
      timer.due = this.#elapsed;
      this.#timers.append(timer);
    }
    return timer;
  }

  /** The same for one that has run before: it runs as if it had been added when it was first. */
  addAgain(delay: number, timer: Timer): void {
    timer.due = this.#elapsed + delay;
    if (delay !== Infinity) this.#timers.push(timer);
  }

  /** Takes off what {@link VirtualScheduler.after} or `add` has scheduled, if it has not run yet. */
  cancel(timer: Timer): void {
    if (timer.index !== -1) this.#timers.remove(timer);
  }

  /** Goes to the moment of what is due next and runs that, and nothing else; whatever it throws is thrown. */
  runNext(): void {
    const timer = this.#timers.pop();
    if (timer === undefined) return;
    this.#elapsed = Math.max(this.#elapsed, timer.due);
    timer.run();
  }

  /** Lets time pass without running anything. */
  passTo(elapsed: number): void {
    this.#elapsed = Math.max(this.#elapsed, elapsed);
  }
}

/** Its own timer and teardown: a loop makes one of these for each of its busy periods. */
class VirtualAction<T> extends Subscription implements SchedulerAction<T>, Timer {
  due = 0;
  order = 0;
  index = -1;
  #state: T | undefined;

  constructor(
    readonly scheduler: VirtualScheduler,
    readonly work: (this: SchedulerAction<T>, state?: T) => void,
  ) {
    super();
  }

  schedule(state?: T, delay = 0): Subscription {
    if (this.closed) return this;
    this.scheduler.cancel(this);
    this.#state = state;
    this.scheduler.add(delay, this);
    return this;
  }

  run(): void {
    this.work(this.#state);
  }

  override unsubscribe(): void {
    if (this.closed) return;
    this.scheduler.cancel(this);
    super.unsubscribe();
  }
}
