import { type Subscriber, TimeoutError } from 'rxjs';
import type { Attempt } from './attempt.js';
import type { ReconcileSettings } from './config.js';
import type { Entry } from './entry.js';
import type { Failed, Outcome } from './outcome.js';
import type { Trampoline } from './trampoline.js';
import type { Reconciler } from './types.js';
import type { Workqueue } from './workqueue.js';
import { type CutRun, Runner, type RunObserver } from './runner.js';

/** The worker, as its turns see it. */
export interface BusyWorker {
  readonly reconciler: Reconciler;
  readonly settings: ReconcileSettings;
  readonly queue: Workqueue;
  readonly trampoline: Trampoline;
  readonly Context: typeof Attempt | undefined;
  readonly isClosed: boolean;
  now(): number;
  /** The next one starts, if one may. */
  start(): Entry | undefined;
  /** One has started, and can be cut off. */
  started(): void;
  /** A run has ended. */
  ended(entry: Entry, outcome: Outcome, at: number): void;
  /** Notes a failure: what users say meanwhile is heard afterwards. */
  fail(entry: Entry, failed: Failed, at: number, open: boolean): void;
  /** Users are asked for what is to be noted. */
  readonly isAsking: boolean;
  /** Keeps `work` for later while they are, and says so. */
  defer(work: () => void): boolean;
  release(entry: Entry): void;
  freePlace(): void;
  turnEnded(period: BusyPeriod): void;
  look(): void;
}

/**
 * A turn of a worker: runs one ready id after the other until none may start. It spans the whole busy period because a turn a
 * run would halve the speed, and it loops because a stack that grows with every synchronous run overflows. A worker that may run
 * several ids at once has several of these. It is used again once it has ended.
 */
export class BusyPeriod implements RunObserver {
  readonly #runner: Runner;
  #turn: Subscriber<never> | undefined;

  constructor(readonly worker: BusyWorker) {
    const { reconciler, settings, queue, Context } = worker;
    this.#runner = new Runner(reconciler, settings, queue.worker, this, Context);
  }

  begin(turn: Subscriber<never>): void {
    this.#turn = turn;
    this.advance();
  }

  readonly advance = (): void => {
    while (this.#runNext());
  };

  /**
   * A function of its own: the loop around it may not return for long, and an engine keeps what it has compiled of one at first.
   *
   * @returns whether the turn may go on at once; not if it has ended, or awaits what its run says
   */
  #runNext(): boolean {
    const { worker } = this;
    if (this.#turn === undefined || this.#runner.entry !== undefined || worker.isClosed) return false;
    const entry = worker.start();
    // Who was asked for the next one, or for the time, may have let go of the loop.
    // eslint-disable-next-line @typescript-eslint/no-unnecessary-condition -- it may have changed since it was looked at above
    if (worker.isClosed) return false;
    if (entry === undefined) {
      this.#end();
      return false;
    }
    this.#runner.take(entry);
    // Only now, for it delivers the step that says so, and whoever sees that may cut the run off.
    worker.started();
    worker.trampoline.deliver();
    // Whoever saw it start may have cut it off.
    if (!this.#isRunning(entry)) return true;
    const outcome = this.#runner.run(entry);
    if (outcome === undefined) return !this.#isRunning(entry);
    this.#settle(entry, outcome);
    // Whoever sees it end may stop the loop, or ask for the next id, which has not started yet.
    worker.trampoline.deliver();
    return true;
  }

  hold(work: () => void): void {
    this.worker.trampoline.hold(work);
  }

  settled(entry: Entry, outcome: Outcome): void {
    const { worker } = this;
    if (worker.isAsking) {
      worker.defer(() => {
        this.settled(entry, outcome);
      });
      return;
    }
    this.#settle(entry, outcome);
    worker.trampoline.goOn(this.advance);
  }

  overtime(): void {
    const { worker } = this;
    const { id } = this.#runner.entry as Entry;
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- it is what people of rxjs look for
    const error = new TimeoutError();
    error.message = `Reconciling \`${id}\` took longer than ${String(worker.settings.maxReconcileTime)} ms`;
    this.hold(() => {
      const at = worker.now();
      const cut = this.cutOff();
      if (cut === undefined) return;
      worker.fail(cut.entry, { failure: 'timeout', error }, at, cut.open);
      cut.end(() => error);
    });
    worker.trampoline.flush(this.advance);
  }

  released(entry: Entry): void {
    this.worker.release(entry);
  }

  /** Takes what runs away from here; the caller records that, and then ends it. */
  cutOff(): CutRun | undefined {
    const cut = this.#runner.cutOff();
    if (cut !== undefined) this.worker.freePlace();
    return cut;
  }

  /** Nothing of it may keep the process alive. */
  rest(): void {
    this.#runner.rest();
  }

  #settle(entry: Entry, said: Outcome): void {
    const { worker } = this;
    const outcome: Outcome =
      said.failure !== undefined && entry.slot?.context?.gaveWayBy(said.error) === true ? { ...said, failure: 'superseded' } : said;
    const at = worker.now();
    // Even a clock may be a user's, as the error is, and cut off what has ended before it is noted.
    if (!this.#isRunning(entry)) return;
    this.#runner.recorded();
    worker.ended(entry, outcome, at);
  }

  #isRunning(entry: Entry): boolean {
    return this.#runner.entry === entry;
  }

  #end(): void {
    const turn = this.#turn;
    this.#turn = undefined;
    this.rest();
    this.worker.turnEnded(this);
    turn?.complete();
    this.worker.look();
  }
}
