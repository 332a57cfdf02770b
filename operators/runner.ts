import type { Observable, Observer, Subscription } from 'rxjs';
import { after } from './after.js';
import { Attempt } from './attempt.js';
import type { ReconcileSettings } from './config.js';
import { isAsyncIterable, isObservableInput, isOurs, isPromiseLike, toObservable } from './observable-input.js';
import { type Outcome, outcomeOf } from './outcome.js';
import { report } from './report.js';
import type { Reconciler } from './types.js';
import type { Entry } from './entry.js';

/** What becomes of runs that did not end while they were called. */
export interface RunObserver {
  /** Does `work`, in which nothing of the loop starts. */
  hold(work: () => void): void;
  settled(entry: Entry, outcome: Outcome): void;
  /** The run in hand has taken `maxReconcileTime`. */
  overtime(): void;
  /** The promise of a run that was cut off has settled. */
  released(entry: Entry): void;
}

/** A run that was taken out of hand. */
export interface CutRun {
  readonly entry: Entry;
  /** It may go on all the same: a promise cannot be stopped. */
  readonly open: boolean;
  /** Unsubscribes it and aborts its signal. That is user code, which must see the new state, so it comes after the cut was noted. */
  readonly end: (reason: () => Error) => void;
}

/** Calls the reconciler for one id at a time, watches its time, and cuts it off. */
export class Runner {
  readonly #limit: number;
  /** Asked for when first needed: it is user code, which may throw, and then a run has failed. */
  #workerName: string | undefined;
  #slot: Slot;
  #watchdog: Subscription | undefined;
  /** The run for which the watchdog was let out. */
  #watched: Attempt | undefined;
  /** Looks after a run that does not end at once. */
  #probe: Subscription | undefined;

  constructor(
    readonly reconciler: Reconciler,
    readonly settings: ReconcileSettings,
    readonly worker: number,
    readonly observer: RunObserver,
    readonly Context: typeof Attempt = Attempt,
  ) {
    const { maxReconcileTime } = settings;
    this.#limit = maxReconcileTime === 0 ? Infinity : maxReconcileTime;
    this.#slot = new Slot(observer);
  }

  /**
   * Runs `entry`; `undefined` means that the outcome comes later, or, if it was cut off meanwhile, not at all. Whoever has
   * noted the outcome says so by `recorded`: until then the run is in hand, and can be cut off.
   */
  run(entry: Entry): Outcome | undefined {
    const { id, attempt, reason, streams } = entry;
    const { reconciler } = this;
    const slot = this.#slot;
    slot.entry = entry;
    slot.onStack = true;
    try {
      const workerName = (this.#workerName ??= this.settings.workerName(this.worker));
      slot.attempt = entry.context = new this.Context(id, this.worker, workerName, attempt, reason, streams);
      // To name the worker is user code, which may have cut the run off before it began.
      if (slot.isCut) slot.fulfilled(undefined);
      else slot.take(reconciler(id, slot.attempt));
    } catch (error) {
      slot.error(error);
    }
    const { outcome, isCut } = slot;
    if (isCut) unsubscribed(slot.subscription);
    slot.onStack = false;
    slot.outcome = undefined;
    if (isCut) {
      if (outcome !== undefined || slot.subscription !== undefined) slot.release();
      return undefined;
    }
    if (outcome === undefined) this.#watch();
    return outcome;
  }

  /** The outcome of the run in hand is noted: it can be cut off no longer. */
  recorded(): void {
    const slot = this.#slot;
    if (slot.entry !== undefined) slot.entry.context = undefined;
    slot.entry = slot.subscription = undefined;
    slot.hasEnded = false;
  }

  /** Takes the run in hand, if there is one, out of it: whatever it says from now on is its own. */
  cutOff(): CutRun | undefined {
    const slot = this.#slot;
    const { entry, attempt, subscription, onStack, hasEnded } = slot;
    if (entry === undefined) return undefined;
    const open = !hasEnded && (subscription === undefined || onStack);
    slot.isCut = true;
    slot.isOpen = open;
    entry.context = undefined;
    this.#slot = new Slot(this.observer);
    return {
      entry,
      open,
      end: (reason) => {
        if (!onStack) unsubscribed(subscription);
        attempt?.abort(reason);
      },
    };
  }

  /** Nothing runs for a while: nothing may keep the process alive. */
  rest(): void {
    this.#watchdog?.unsubscribe();
    this.#probe?.unsubscribe();
    this.#watchdog = this.#probe = undefined;
  }

  /**
   * Sees to it that the run in hand is cut off when it has taken its time. A timer a run would cost more than the run, so one
   * that comes after others is given its own only if it is still there when the event loop comes round. Its time is counted by
   * that timer alone: when it was called no clock can tell, for an observer of the step before may have taken any time (T4).
   */
  #watch(): void {
    if (this.#limit === Infinity) return;
    const { scheduler } = this.settings;
    if (this.#watchdog === undefined) {
      this.#watched = this.#slot.attempt;
      // eslint-disable-next-line rxjs-x/no-ignored-error -- it cannot fail
      this.#watchdog = after(this.#limit, scheduler).subscribe(() => {
        this.#watchdog = undefined;
        this.#alarm();
      });
    } else {
      // eslint-disable-next-line rxjs-x/no-ignored-error -- it cannot fail
      this.#probe ??= after(0, scheduler).subscribe(() => {
        this.#probe = undefined;
        if (this.#slot.entry === undefined || this.#slot.attempt === this.#watched) return;
        this.#watchdog?.unsubscribe();
        this.#watchdog = undefined;
        this.#watch();
      });
    }
  }

  #alarm(): void {
    const { entry, attempt } = this.#slot;
    if (entry === undefined) return;
    if (attempt !== this.#watched) {
      this.#watch();
      return;
    }
    this.observer.overtime();
  }
}

/** Where a run's answer is awaited. It is used again by the next run, with its callbacks, unless it was cut off. */
class Slot implements Observer<unknown> {
  entry: Entry | undefined;
  attempt: Attempt | undefined;
  /** What is to be unsubscribed; promises have nothing of the kind. */
  subscription: Subscription | undefined;
  outcome: Outcome | undefined;
  /** The reconciler, or the teardown of what it returned, is on the stack: the run has not ended, whatever it has said. */
  onStack = false;
  /** The run has ended, but nobody has noted it yet. */
  hasEnded = false;
  isCut = false;
  /** It was cut off, and went on all the same. */
  isOpen = false;
  #last: unknown;

  constructor(readonly observer: RunObserver) {}

  take(answer: unknown): void {
    if (answer === undefined || answer === null) this.fulfilled(undefined);
    // As `await` does it: a promise's own `then` may call back twice.
    else if (isPromiseLike(answer)) void Promise.prototype.then.call(Promise.resolve(answer), this.fulfilled, this.error);
    else if (isOurs(answer)) this.#listen(answer);
    else if (isAsyncIterable(answer)) void lastOf(answer, this).then(this.fulfilled, this.error);
    else if (isObservableInput(answer) && !isCollection(answer)) this.#listen(toObservable(answer));
    else this.fulfilled(answer);
  }

  #listen(answers: Observable<unknown>): void {
    if (this.isCut) {
      this.fulfilled(answers);
      return;
    }
    const subscription = answers.subscribe(this);
    // One that has ended already must not be taken for that of the next run.
    if (this.outcome === undefined) this.subscription = subscription;
  }

  readonly fulfilled = (value: unknown): void => {
    this.#settle(outcomeOf(value));
  };

  readonly next = (value: unknown): void => {
    this.#last = value;
  };

  readonly error = (error: unknown): void => {
    this.#settle({ failure: 'thrown', error });
  };

  readonly complete = (): void => {
    this.fulfilled(this.#last);
  };

  release(): void {
    if (this.isOpen && this.entry !== undefined) this.observer.released(this.entry);
  }

  #settle(outcome: Outcome): void {
    this.#last = undefined;
    const { subscription } = this;
    if (this.onStack) {
      this.outcome = outcome;
    } else if (subscription === undefined || this.isCut) {
      this.#end(outcome);
    } else {
      // It tears down what it was subscribed to only after it has said so. What that holds must be free for the next run.
      this.observer.hold(() => {
        this.onStack = true;
        unsubscribed(subscription);
        this.onStack = false;
        this.#end(outcome);
      });
    }
  }

  #end(outcome: Outcome): void {
    if (this.isCut) {
      this.release();
    } else if (this.entry !== undefined) {
      this.hasEnded = true;
      this.observer.settled(this.entry, outcome);
    }
  }
}

/** Iterable, but not of answers: an empty one would say nothing, and pass for done. */
function isCollection(answer: unknown): boolean {
  return ArrayBuffer.isView(answer) || /^\[object (Map|String)]$/.test(Object.prototype.toString.call(answer));
}

/** A teardown is user code; the loop goes on, whatever it throws (B1). */
function unsubscribed(subscription: Subscription | undefined): void {
  try {
    subscription?.unsubscribe();
  } catch (error) {
    report(error);
  }
}

/** An async iterable cannot be stopped while it awaits, so it counts as a promise of its last value. */
async function lastOf(values: AsyncIterable<unknown>, slot: Slot): Promise<unknown> {
  let last: unknown;
  for await (const value of values) {
    if (slot.isCut) break;
    last = value;
  }
  return last;
}
