import { Observable, Subject } from 'rxjs';
import type { Attempt } from './attempt.js';
import { BusyPeriod, type BusyWorker } from './busy-period.js';
import type { CommandedLane } from './commands.js';
import type { ClockWatch } from './clock-watch.js';
import type { ReconcileSettings } from './config.js';
import type { Entry } from './entry.js';
import { Fifo } from './fifo.js';
import type { LaneConfig } from './lane-config.js';
import type { Failed, Outcome } from './outcome.js';
import type { Candidate, Places } from './places.js';
import type { CutRun } from './runner.js';
import { Shutdown } from './shutdown.js';
import type { Tenure, TenuredLane } from './tenure.js';
import type { Tick } from './tick-grid.js';
import type { Trampoline } from './trampoline.js';
import type { Reconciler, Trigger } from './types.js';
import { Workqueue } from './workqueue.js';

/** Asks for a wake-up at a tick; none is needed once it was disarmed. */
export interface WakeUp {
  readonly tick: Tick<Entry>;
  readonly disarmed: Observable<void>;
}

/** Everything happens to a lane from outside, by one of these methods; each changes state first and then flushes (A5). */
export class Worker implements BusyWorker, Candidate, CommandedLane, TenuredLane {
  readonly queue: Workqueue;
  readonly settings: ReconcileSettings;
  readonly trampoline: Trampoline;
  readonly Context: typeof Attempt | undefined;
  readonly #turns = new Subject<void>();
  readonly #wakeUps = new Subject<WakeUp>();
  readonly #done = new Subject<void>();
  /** Asks for a turn. */
  readonly turns: Observable<void> = this.#turns;
  /** Asks for a wake-up. */
  readonly wakeUps: Observable<WakeUp> = this.#wakeUps;
  readonly done: Observable<void> = this.#done;
  readonly #clock: ClockWatch;
  readonly #places: Places | undefined;
  readonly #shutdown: Shutdown;
  /** The terms in which it runs, if it does not always. */
  readonly tenure: Tenure | undefined;
  /** Turns that are going on, and such as have ended, to be used again. */
  readonly #periods = new Set<BusyPeriod>();
  readonly #spare: BusyPeriod[] = [];
  /** A turn is asked for that has not begun: one at a time, so that the turnstile never queues more. */
  #isAsked = false;
  /** A place is reserved for it. */
  #hasPlace = false;
  #isCut = false;
  /** A failure is being noted. */
  #isRecording = false;
  readonly #deferred = new Fifo<() => void>();
  /** When the last run ended, if the clock has not been read since: then the next one starts at this, and saves a reading. */
  // Not `#`, for what `ClockWatch` says.
  private endedAt = NaN;

  constructor(
    readonly reconciler: Reconciler,
    worker: number,
    { settings, trampoline, delays, Context, places, commands, broken: stopLoop, Queue = Workqueue }: LaneConfig,
    inTerms?: (lane: TenuredLane) => Tenure,
  ) {
    this.settings = settings;
    this.trampoline = trampoline;
    this.Context = Context;
    this.#places = places;
    this.#clock = delays.clock;
    const arm = (tick: Tick<Entry>): (() => void) => {
      const disarmed = new Subject<void>();
      this.#wakeUps.next({ tick, disarmed });
      return () => {
        disarmed.next();
      };
    };
    /** The order has broken its rules (P4). It stops the loop, so it waits until the state is whole again. */
    const broken = (error: Error): void => {
      trampoline.ask(() => {
        stopLoop(error);
      });
    };
    this.queue = new Queue(worker, settings, trampoline, arm, commands.pauses, broken, delays.clock);
    this.tenure = inTerms?.(this);
    this.#shutdown = new Shutdown(
      settings,
      this.queue,
      () => this.isBusy,
      () => {
        this.#cutOff('The loop was stopped', () => {
          this.queue.giveUp(this.now());
        });
      },
      () => {
        this.#done.next();
      },
    );
  }

  /** A turn, as the turnstile lets it in. */
  readonly busyPeriod = new Observable<never>((turn) => {
    this.#isAsked = false;
    const period = this.#spare.pop() ?? new BusyPeriod(this);
    this.#periods.add(period);
    period.begin(turn);
  });

  /** Made by hand: `tap` would send each event on, through the whole merge, only to be ignored there. */
  taking(events: Observable<string | Trigger>): Observable<never> {
    const { tenure } = this;
    return new Observable((subscriber) =>
      events.subscribe({
        next: (event) => {
          if (tenure?.admits(event) !== false) this.#offer(event);
        },
        error: (error: unknown) => {
          subscriber.error(error);
        },
        complete: () => {
          // A grace that begins by it is the loop's.
          this.trampoline.hold(() => {
            this.#shutdown.drain();
            this.look();
          });
          subscriber.complete();
        },
      }),
    );
  }

  get isStopping(): boolean {
    return this.#isCut || this.#shutdown.isStopping;
  }

  /** A turn is asked for or going on. */
  get isBusy(): boolean {
    return this.#isAsked || this.#periods.size > 0;
  }

  /** Nothing starts any more. */
  get isClosed(): boolean {
    return this.#isCut || this.trampoline.isClosed;
  }

  now(): number {
    this.endedAt = NaN;
    const now = this.settings.scheduler.now();
    this.#clock.see(now);
    return now;
  }

  /** The next one starts, if one may. */
  start(): Entry | undefined {
    const endedAt = this.endedAt;
    this.endedAt = NaN;
    if (this.#places !== undefined && !(this.queue.hasReady && this.#takePlace(this.#places))) {
      this.#giveBack();
      return undefined;
    }
    const entry = this.queue.start(Number.isNaN(endedAt) ? this.now() : endedAt);
    if (entry === undefined) this.freePlace();
    return entry;
  }

  /** A run has ended. */
  ended(entry: Entry, outcome: Outcome, at: number): void {
    this.endedAt = at;
    if (outcome.failure === undefined) this.queue.succeed(entry, outcome.requeueDelay, at);
    else this.fail(entry, outcome, at, false);
    // A dirty id may have gone to an order that asks users.
    if (!this.#deferred.isEmpty) this.#hear();
    // Last: whoever gets the place starts, and what has ended must be known by then.
    this.freePlace();
  }

  /** Asks for another turn, if something may start beside what has. */
  started(): void {
    // What was said as the order was asked for it: it can be cut off now.
    if (!this.#deferred.isEmpty) this.#hear();
    this.ask();
  }

  /** Notes a failure, for which users are asked: what they say meanwhile is heard only afterwards, for nothing may change half of a state. */
  fail(entry: Entry, failed: Failed, at: number, open: boolean): void {
    this.#isRecording = true;
    try {
      this.queue.fail(entry, failed, at, open);
    } finally {
      this.#isRecording = false;
    }
    this.#hear();
  }

  wake(tick: Tick<Entry>): void {
    this.#whenNoted(() => {
      this.queue.wake(tick, this.now());
      this.go();
    });
  }

  release(entry: Entry): void {
    if (this.#isCut) return;
    this.#whenNoted(() => {
      this.queue.release(entry, this.now());
      this.go();
    });
  }

  reset(): void {
    this.#whenNoted(() => {
      this.#cutOff('The term of this loop has ended', (cuts) => {
        const at = this.now();
        this.queue.reset(at);
        for (const { entry, open } of cuts) this.queue.cut(entry, at, open);
      });
      for (const { advance } of [...this.#periods]) this.trampoline.flush(advance);
      this.trampoline.flush();
      this.look();
    });
  }

  stop(): void {
    this.#whenNoted(() => {
      if (this.#shutdown.isStopping) return;
      this.queue.close('stopped', this.now());
      this.#shutdown.stop();
      this.go();
    });
  }

  /** Unsubscribed, or done. */
  cut(): void {
    this.#isCut = true;
    this.#shutdown.cancel();
    this.#giveBack();
    for (const period of this.#periods) period.rest();
    this.#cutOff('The loop was unsubscribed');
    this.tenure?.end();
  }

  granted(): void {
    this.#hasPlace = true;
    this.ask();
  }

  /** A run no longer needs its place. */
  freePlace(): void {
    this.#places?.free();
  }

  turnEnded(period: BusyPeriod): void {
    this.#periods.delete(period);
    this.#spare.push(period);
  }

  /** It may be at its end. */
  look(): void {
    if (!this.#deferred.isEmpty) this.#hear();
    if (this.#isCut || this.isAsking) return;
    if (this.#shutdown.isEnding) this.#lookForTheEnd();
    this.tenure?.look();
  }

  #lookForTheEnd(): void {
    if (this.#shutdown.isDraining && this.queue.pauses.isForEver) {
      this.queue.dropPaused(this.now());
      this.trampoline.flush();
    }
    this.#shutdown.look();
  }

  #offer(event: string | Trigger): void {
    if (this.isClosed) return;
    if (this.isAsking) {
      this.#deferred.push(() => {
        this.#offer(event);
      });
      return;
    }
    // What a step causes happens at its moment: to read the clock is the most expensive thing in the life of an event.
    const { moment } = this.trampoline;
    const at = Number.isNaN(moment) ? this.now() : moment;
    const superseded = this.queue.offer(typeof event === 'string' ? { id: event } : event, at);
    this.go();
    if (superseded !== undefined) this.#supersede(superseded);
  }

  /** A newer event has come for what runs: whoever listens for that hears it once the step of the event was seen (W7). */
  #supersede(entry: Entry): void {
    const context = entry.slot?.context;
    // A run whose start was seen, but which was not called yet, is there when the turn comes; or it is over, and another one is, which has
    // begun for that very event.
    const abort = context === undefined ? () => entry.isSuperseded && entry.slot?.context?.supersede()?.() : context.supersede();
    if (abort !== undefined) this.trampoline.flush(abort);
  }

  /** What has changed may let something start, or be the end. */
  go(): void {
    if (!this.#deferred.isEmpty) this.#hear();
    if (!this.ask()) this.trampoline.flush();
    this.look();
  }

  /**
   * Asks for a turn if it may start something, unless one is asked for already.
   *
   * @returns whether it did
   */
  ask(): boolean {
    if (this.#isAsked || !(this.queue.hasReady || this.#hasPlace)) return false;
    if (this.#places !== undefined && !this.#hasPlace && this.#places.isStanding(this)) return false;
    this.#isAsked = true;
    this.trampoline.flush(this.#takeTurn);
    return true;
  }

  readonly #takeTurn = (): void => {
    this.#turns.next();
  };

  /** The reserved place is of no use. */
  #giveBack(): void {
    if (!this.#hasPlace) return;
    this.#hasPlace = false;
    this.freePlace();
  }

  #takePlace(places: Places): boolean {
    if (!this.#hasPlace) return places.take(this);
    this.#hasPlace = false;
    return true;
  }

  /** Takes all runs out of hand; `note` says what becomes of them, and they hear of it once that is known. */
  #cutOff(why: string, note?: (cuts: readonly CutRun[]) => void): void {
    this.trampoline.hold(() => {
      const cuts = Array.from(this.#periods, (period) => period.cutOff()).filter((cut) => cut !== undefined);
      note?.(cuts);
      for (const { end } of cuts) end(() => new DOMException(why, 'AbortError'));
    });
  }

  /** Users are asked for what is to be noted: nothing may change before they have answered. */
  get isAsking(): boolean {
    return this.#isRecording || this.queue.isAsking;
  }

  /** While users are asked, `work` waits until that is done. */
  defer(work: () => void): boolean {
    const { isAsking } = this;
    if (isAsking) this.#deferred.push(work);
    return isAsking;
  }

  /** What users have said while they were asked. */
  #hear(): void {
    while (!this.#deferred.isEmpty && !this.isAsking) this.#deferred.shift()?.();
  }

  #whenNoted(work: () => void): void {
    if (!this.defer(work)) work();
  }
}
