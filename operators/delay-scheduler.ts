import { asyncScheduler, Observable, type SchedulerAction, type SchedulerLike, Subscription, throwError } from 'rxjs';
import { after } from './after.js';
import { ClockWatch } from './clock-watch.js';
import { check, checkScheduler } from './check.js';
import type { LinkedListNode } from './linked-list.js';
import { type Tick, TickGrid } from './tick-grid.js';

/** The shortest delay, in ms, that no scheduler takes for none. */
const SOON = 2 ** -10;

/**
 * Schedules on a grid: delays are rounded up to the next multiple of `resolution` on the scheduler's clock, and all
 * actions that are due in one tick share one timer of the scheduler below. So a million waiting actions cost as many
 * timers as there are ticks between the first and the last of them.
 *
 * A delay is a lower bound: an action runs never early and at most one tick late, whatever it does to its neighbours.
 * Delays over 2^31-1 ms are honoured, Infinity never comes, anything that is no positive number counts as 0.
 * An action that throws is reported as rxjs reports an unhandled error, and affects no other.
 *
 * It is a full `SchedulerLike`: `interval`, `delay` and `debounceTime` run on it.
 *
 * @param resolution - the distance of two ticks in ms, > 0
 * @param scheduler - where the ticks themselves are timed; default `asyncScheduler`
 * @example
 * const delays = new DelayScheduler(250);
 * retries$.pipe(delayWhen(({ ms }) => timer(ms, delays)));
 */
export class DelayScheduler implements SchedulerLike {
  readonly #ticks: TickGrid<DelayAction<unknown>>;
  readonly #scheduler: SchedulerLike;
  /** Whether its clock is consistent, for others who look at it. */
  readonly clock: ClockWatch;

  constructor(resolution: number, scheduler: SchedulerLike = asyncScheduler) {
    check('resolution', resolution, 'a finite number > 0', Number.isFinite(resolution) && resolution > 0);
    checkScheduler('scheduler', scheduler);
    this.#scheduler = scheduler;
    this.clock = new ClockWatch(resolution);
    const arm = (tick: Tick<DelayAction<unknown>>): (() => void) => {
      const timer = new Subscription();
      let isArming = true;
      const wait = (delay: number): void => {
        const tickIsDue = (): void => {
          // Some schedulers do at once what has no delay. Who waits for the tick has to join it first.
          if (isArming) wait(SOON);
          else run(tick, scheduler.now());
        };
        // eslint-disable-next-line rxjs-x/no-ignored-error -- it cannot fail
        timer.add(after(delay, scheduler).subscribe(tickIsDue));
      };
      wait(tick.due - scheduler.now());
      isArming = false;
      return () => {
        timer.unsubscribe();
      };
    };
    this.#ticks = new TickGrid(resolution, arm, this.clock);
  }

  /** What the clock of the scheduler below shows, in ms. */
  now(): number {
    return this.#scheduler.now();
  }

  /** Emits once and completes at `due`, which is a moment of the grid, on the clock of the scheduler below. */
  until(due: number): Observable<void> {
    return new Observable((subscriber) => {
      const ticks = this.#ticks as unknown as TickGrid<DelayAction<void>>;
      const done = (): void => {
        subscriber.next();
        subscriber.complete();
      };
      return new DelayAction<void>(this, ticks, done).join(ticks.at(due, this.now()));
    });
  }

  /** Calls `work` with `state` at the first tick that is no sooner than `delay` ms from now. */
  schedule<T>(work: (this: SchedulerAction<T>, state?: T) => void, delay = 0, state?: T): Subscription {
    return new DelayAction<T>(this, this.#ticks as unknown as TickGrid<DelayAction<T>>, work).schedule(state, delay);
  }
}

class DelayAction<T> extends Subscription implements SchedulerAction<T>, LinkedListNode<DelayAction<T>> {
  previous: DelayAction<T> | undefined = undefined;
  next: DelayAction<T> | undefined = undefined;
  #tick: Tick<DelayAction<T>> | undefined;
  #state: T | undefined;

  constructor(
    readonly scheduler: SchedulerLike,
    readonly ticks: TickGrid<DelayAction<T>>,
    readonly work: (this: SchedulerAction<T>, state?: T) => void,
  ) {
    super(() => {
      this.#leave();
    });
  }

  schedule(state?: T, delay = 0): Subscription {
    if (this.closed) return this;
    this.#leave();
    this.#state = state;
    if (delay === Infinity) return this;
    return this.join(this.ticks.after(delay > 0 ? delay : 0, this.scheduler.now()));
  }

  join(tick: Tick<DelayAction<T>>): this {
    this.#tick = tick;
    tick.join(this);
    return this;
  }

  execute(): void {
    this.#tick = undefined;
    try {
      this.work(this.#state);
    } catch (error) {
      this.unsubscribe();
      throwError(() => error).subscribe();
    }
  }

  #leave(): void {
    this.#tick?.leave(this);
    this.#tick = undefined;
  }
}

function run(tick: Tick<DelayAction<unknown>>, now: number): void {
  tick.fire(now);
  for (let action = tick.members.shift(); action !== undefined; action = tick.members.shift()) action.execute();
}
