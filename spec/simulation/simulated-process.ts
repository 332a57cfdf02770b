import type { SchedulerAction, SchedulerLike, Subscription } from 'rxjs';
import type { VirtualScheduler } from '../../lib/testing/virtual-scheduler.js';

/** The time of one process, which may be frozen, as by SIGSTOP, and may die: what was due meanwhile it does when it wakes up, or never. */
export class SimulatedProcess implements SchedulerLike {
  readonly #clock: VirtualScheduler;
  readonly #missed: (() => void)[] = [];
  #state: 'awake' | 'frozen' | 'dead' = 'awake';
  /** When it woke up last. */
  #wokenAt = -1;

  constructor(clock: VirtualScheduler) {
    this.#clock = clock;
  }

  /** Whether it can do anything in this moment that it had in mind before it was frozen. */
  get isOutOfTime(): boolean {
    return this.#state !== 'awake' || this.#wokenAt === this.#clock.elapsed;
  }

  get isAlive(): boolean {
    return this.#state !== 'dead';
  }

  get isAwake(): boolean {
    return this.#state === 'awake';
  }

  now(): number {
    return this.#clock.now();
  }

  schedule<T>(work: (this: SchedulerAction<T>, state?: T) => void, delay = 0, state?: T): Subscription {
    // eslint-disable-next-line @typescript-eslint/no-this-alias -- `this` is the action within
    const process = this;
    return this.#clock.schedule<T>(
      function (state) {
        process.do(() => {
          if (!this.closed) work.call(this, state);
        });
      },
      delay,
      state,
    );
  }

  /** Does it now, or when it wakes up. */
  do(work: () => void): void {
    if (this.#state === 'awake') work();
    else if (this.#state === 'frozen') this.#missed.push(work);
  }

  freeze(): void {
    if (this.#state === 'awake') this.#state = 'frozen';
  }

  wake(): void {
    if (this.#state !== 'frozen') return;
    this.#state = 'awake';
    this.#wokenAt = this.#clock.elapsed;
    for (const work of this.#missed.splice(0)) {
      this.#clock.after(0, () => {
        this.do(work);
      });
    }
  }

  die(): void {
    this.#state = 'dead';
  }
}
