import {
  concatMap,
  defer,
  delayWhen,
  finalize,
  ignoreElements,
  merge,
  Observable,
  type OperatorFunction,
  Subject,
  type Subscriber,
  type Subscription,
  takeUntil,
  tap,
  timer,
} from 'rxjs';
import { after } from './after.js';
import type { Attempt } from './attempt.js';
import type { ReconcileSettings } from './config.js';
import type { DelayScheduler } from './delay-scheduler.js';
import type { Entry } from './entry.js';
import { toObservable } from './observable-input.js';
import type { Outcome } from './outcome.js';
import type { Trampoline } from './trampoline.js';
import { Runner, type RunObserver } from './runner.js';
import type { Tick } from './tick-grid.js';
import type { Reconciler, Trigger } from './types.js';
import { Workqueue } from './workqueue.js';

/** What the lanes of one loop share. */
export interface LaneConfig {
  readonly settings: ReconcileSettings;
  /** Where the steps leave. */
  readonly trampoline: Trampoline;
  /** Where the wake-ups are scheduled; its resolution is `settings.delayResolution`. */
  readonly delays: DelayScheduler;
  /** What contexts are made of, if they are to have more: a class that extends it keeps the signal lazy. */
  readonly Context?: typeof Attempt | undefined;
  /** Is told of the lane's workqueue, to look at. */
  readonly inspector?: ((queue: Workqueue) => void) | undefined;
}

/**
 * One lane: runs the ids it is given one at a time, in the order in which they became ready. Its steps leave by the trampoline;
 * it completes once its source has and everything has settled, or once `settings.stop` has emitted and nothing runs.
 */
export function lane(reconciler: Reconciler, worker: number, config: LaneConfig): OperatorFunction<string | Trigger, never> {
  const { settings, delays } = config;
  return (events) =>
    defer(() => {
      const lane = new Lane(reconciler, worker, config);
      config.inspector?.(lane.queue);
      return merge(
        lane.turns.pipe(concatMap(() => lane.busyPeriod)),
        lane.ticks.pipe(
          // Half a tick early, for it is rounded up: a ms that passes until then must not make it the next tick (T1).
          delayWhen((tick) => timer(tick.due - delays.now() - settings.delayResolution / 2, delays).pipe(takeUntil(disarmed(tick)))),
          tap((tick) => {
            lane.wake(tick);
          }),
        ),
        toObservable(settings.reset).pipe(
          tap(() => {
            lane.reset();
          }),
        ),
        toObservable(settings.stop).pipe(
          tap(() => {
            lane.stop();
          }),
        ),
        lane.taking(events),
      ).pipe(
        ignoreElements(),
        takeUntil(lane.done),
        finalize(() => {
          lane.cut();
        }),
      );
    });
}

/** Everything happens to a lane from outside, by one of these methods; each changes state first and then flushes (A5). */
class Lane implements RunObserver {
  readonly queue: Workqueue;
  readonly #turns = new Subject<void>();
  readonly #ticks = new Subject<Tick<Entry>>();
  readonly #done = new Subject<void>();
  readonly #settings: ReconcileSettings;
  readonly #trampoline: Trampoline;
  readonly #runner: Runner;
  #ending: 'draining' | 'stopping' | undefined;
  #grace: Subscription | undefined;
  #closed = false;
  /** A failure is being noted. */
  #recording = false;
  readonly #deferred: (() => void)[] = [];
  /** When the last run ended, if the clock has not been read since: then the next one starts at this, and saves a reading. */
  #endedAt: number | undefined;
  /** A turn is asked for or going on: there is one at a time, so the turnstile never has to queue. */
  #busy = false;
  /** The one that is going on. */
  #turn: Subscriber<never> | undefined;
  /** What runs. */
  #current: Entry | undefined;

  constructor(reconciler: Reconciler, worker: number, { settings, trampoline, Context }: LaneConfig) {
    this.#settings = settings;
    this.#trampoline = trampoline;
    this.#runner = new Runner(reconciler, settings, worker, this, Context);
    this.queue = new Workqueue(worker, settings, trampoline, (tick) => {
      this.#ticks.next(tick);
    });
  }

  /** Asks for a turn. */
  get turns(): Observable<void> {
    return this.#turns;
  }

  /** Asks for a wake-up. */
  get ticks(): Observable<Tick<Entry>> {
    return this.#ticks;
  }

  get done(): Observable<void> {
    return this.#done;
  }

  /**
   * A turn: runs what is ready until nothing is. It spans the whole busy period because a turn a run would halve the
   * speed, and it loops because a stack that grows with every synchronous run overflows.
   */
  readonly busyPeriod = new Observable<never>((turn) => {
    this.#turn = turn;
    this.#advance();
  });

  /** Made by hand: `tap` would send each event on, through the whole merge, only to be ignored there. */
  taking(events: Observable<string | Trigger>): Observable<never> {
    return new Observable((subscriber) =>
      events.subscribe({
        next: (event) => {
          this.#offer(event);
        },
        error: (error: unknown) => {
          subscriber.error(error);
        },
        complete: () => {
          // A grace that begins by it is the loop's.
          this.hold(() => {
            this.#drain();
          });
          subscriber.complete();
        },
      }),
    );
  }

  #offer(event: string | Trigger): void {
    if (this.#trampoline.isClosed) return;
    const { moment } = this.#trampoline;
    this.queue.offer(typeof event === 'string' ? { id: event } : event, Number.isNaN(moment) ? this.#now() : moment);
    this.#go();
  }

  /** No more events will come. */
  #drain(): void {
    this.#ending ??= 'draining';
    this.#rest();
  }

  wake(tick: Tick<Entry>): void {
    if (this.#defer(() => this.wake(tick))) return;
    this.queue.wake(tick, this.#now());
    this.#go();
  }

  hold(work: () => void): void {
    this.#trampoline.hold(work);
  }

  settled(entry: Entry, outcome: Outcome): void {
    this.#settle(entry, outcome);
    this.#trampoline.goOn(this.#advance);
  }

  overtime(error: Error): void {
    this.#runner.cut(
      () => error,
      (open) => {
        const at = this.#now();
        const entry = this.#ended();
        this.#record(() => {
          this.queue.fail(entry, { failure: 'timeout', error }, at, open);
        });
      },
    );
    this.#trampoline.flush(this.#advance);
  }

  released(entry: Entry): void {
    if (this.#closed) return;
    this.queue.release(entry, this.#now());
    this.#go();
  }

  reset(): void {
    if (this.#defer(() => this.reset())) return;
    this.#runner.cut(aborted('The term of this loop has ended'), (open) => {
      const at = this.#now();
      this.queue.reset(at);
      if (this.#current !== undefined) this.queue.cut(this.#ended(), at, open);
    });
    this.#trampoline.flush(this.#advance);
    this.#rest();
  }

  stop(): void {
    if (this.#ending === 'stopping' || this.#defer(() => this.stop())) return;
    this.#ending = 'stopping';
    this.queue.close('stopped', this.#now());
    this.#awaitGrace();
    this.#go();
  }

  /** Unsubscribed, or done. */
  cut(): void {
    this.#closed = true;
    this.#grace?.unsubscribe();
    this.#runner.rest();
    this.#runner.cut(aborted('The loop was unsubscribed'), () => undefined);
  }

  #go(): void {
    if (!this.#busy && this.queue.hasReady) {
      this.#busy = true;
      this.#trampoline.flush(this.#takeTurn);
    } else {
      this.#trampoline.flush();
    }
    this.#rest();
  }

  readonly #takeTurn = (): void => {
    this.#turns.next();
  };

  readonly #advance = (): void => {
    while (this.#turn !== undefined && this.#current === undefined && !this.#closed && !this.#trampoline.isClosed) {
      const entry = this.queue.start(this.#endedAt ?? this.#now());
      this.#endedAt = undefined;
      this.#current = entry;
      if (entry === undefined) {
        this.#endTurn();
        return;
      }
      this.#trampoline.deliver();
      // Whoever saw it start may have cut it off.
      if (!this.#isRunning(entry)) continue;
      const outcome = this.#runner.run(entry);
      if (outcome === undefined) continue;
      this.#settle(entry, outcome);
      // Whoever sees it end may stop the loop, or ask for the next id, which has not started yet.
      this.#trampoline.deliver();
    }
  };

  #endTurn(): void {
    const turn = this.#turn;
    this.#runner.rest();
    this.#busy = false;
    this.#turn = undefined;
    turn?.complete();
    this.#rest();
  }

  #settle(entry: Entry, outcome: Outcome): void {
    const at = this.#now();
    // Even a clock may be a user's, and cut off what has ended before it is noted.
    if (!this.#isRunning(entry)) return;
    this.#runner.recorded();
    this.#endedAt = at;
    this.#ended();
    if (outcome.failure === undefined) this.queue.succeed(entry, outcome.requeueDelay, at);
    else
      this.#record(() => {
        this.queue.fail(entry, outcome, at);
      });
  }

  #ended(): Entry {
    const entry = this.#current as Entry;
    this.#current = undefined;
    return entry;
  }

  /** Notes a failure, for which users are asked: what they say meanwhile is heard only afterwards, for nothing may change half of a state. */
  #record(fail: () => void): void {
    this.#recording = true;
    try {
      fail();
    } finally {
      this.#recording = false;
    }
    for (let next = this.#deferred.shift(); next !== undefined; next = this.#deferred.shift()) next();
  }

  #defer(work: () => void): boolean {
    if (this.#recording) this.#deferred.push(work);
    return this.#recording;
  }

  /** What has happened may have been the end; or only abandoned ids are left, and these are not waited for without end. */
  #rest(): void {
    if (this.#ending === undefined || this.#closed) return;
    const { size, abandoned } = this.queue;
    if (this.#busy || size > abandoned) {
      if (this.#ending === 'stopping') return;
      this.#grace?.unsubscribe();
      this.#grace = undefined;
    } else if (size > 0) {
      this.#awaitGrace();
    } else {
      this.#done.next();
    }
  }

  #awaitGrace(): void {
    // eslint-disable-next-line rxjs-x/no-ignored-error -- it cannot fail
    this.#grace ??= after(this.#settings.shutdownGrace, this.#settings.scheduler).subscribe(() => {
      this.#runner.cut(aborted('The loop was stopped'), () => {
        this.#current = undefined;
        this.queue.giveUp(this.#now());
      });
      this.#trampoline.flush();
      this.#done.next();
    });
  }

  #isRunning(entry: Entry): boolean {
    return this.#current === entry && !this.#closed;
  }

  #now(): number {
    this.#endedAt = undefined;
    return this.#settings.scheduler.now();
  }
}

function disarmed(tick: Tick<Entry>): Observable<void> {
  return new Observable((subscriber) => {
    const disarm = (): void => {
      subscriber.next();
    };
    tick.disarm = disarm;
  });
}

function aborted(message: string): () => Error {
  return () => new DOMException(message, 'AbortError');
}
