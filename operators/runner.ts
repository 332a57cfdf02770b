import { from, type Observer, type Subscription, TimeoutError } from 'rxjs';
import { after } from './after.js';
import { Attempt } from './attempt.js';
import type { ReconcileSettings } from './config.js';
import { isAsyncIterable, isObservableInput, isPromiseLike } from './observable-input.js';
import { type Outcome, outcomeOf } from './outcome.js';
import { report } from './report.js';
import type { Reconciler } from './types.js';
import type { Entry } from './workqueue.js';

/** What becomes of runs that did not end while they were called. */
export interface RunObserver {
  settled(outcome: Outcome): void;
  /** The run in hand has taken `maxReconcileTime`. */
  overtime(error: Error): void;
  /** The promise of a run that was cut off has settled. */
  released(entry: Entry): void;
}

/** Calls the reconciler for one id at a time, watches its time, and cuts it off. One runner a lane. */
export class Runner {
  readonly #limit: number;
  /** Asked for when first needed: it is user code, which may throw, and then a run has failed. */
  #workerName: string | undefined;
  #slot: Slot;
  #watchdog: Subscription | undefined;
  /** The run for which the watchdog was let out. */
  #watched: Attempt | undefined;

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

  /** Runs `entry`; `undefined` means that the outcome comes later, or, if it was cut off meanwhile, not at all. */
  run(entry: Entry): Outcome | undefined {
    const { id, attempt, reason, streams } = entry;
    const { reconciler } = this;
    const slot = this.#slot;
    slot.entry = entry;
    slot.calling = true;
    try {
      slot.attempt = new this.Context(
        id,
        this.worker,
        (this.#workerName ??= this.settings.workerName(this.worker)),
        attempt,
        reason,
        streams,
      );
      slot.take(reconciler(id, slot.attempt));
    } catch (error) {
      slot.error(error);
    }
    slot.calling = false;
    const { outcome } = slot;
    slot.outcome = undefined;
    if (slot.isCut) {
      unsubscribed(slot.subscription);
      if (outcome !== undefined || slot.subscription !== undefined) this.observer.released(entry);
      return undefined;
    }
    if (outcome === undefined) this.#watch(slot, this.#limit);
    return outcome;
  }

  /**
   * Cuts the run in hand off, if there is one: `record` notes it, and is told whether the run may go on all the same
   * (a promise cannot be stopped); then it is unsubscribed and its signal aborts, whose listeners thus see the new state.
   */
  cut(reason: () => Error, record: (open: boolean) => void): void {
    const { entry, attempt, subscription, calling } = this.#slot;
    if (entry === undefined) {
      record(false);
      return;
    }
    this.#slot.isCut = true;
    this.#slot = new Slot(this.observer);
    record(subscription === undefined || calling);
    unsubscribed(subscription);
    attempt?.abort(reason);
  }

  /** Nothing runs for a while: nothing may keep the process alive. */
  rest(): void {
    this.#watchdog?.unsubscribe();
    this.#watchdog = undefined;
  }

  /** One timer watches all runs of a busy period; a timer a run would cost more than the run. */
  #watch(slot: Slot, left: number): void {
    if (this.#watchdog !== undefined || this.#limit === Infinity) return;
    const { scheduler } = this.settings;
    const due = scheduler.now() + left;
    this.#watched = slot.attempt;
    // eslint-disable-next-line rxjs-x/no-ignored-error -- it cannot fail
    this.#watchdog = after(left, scheduler).subscribe(() => {
      this.#watchdog = undefined;
      this.#alarm(due);
    });
  }

  #alarm(due: number): void {
    const { entry, attempt } = this.#slot;
    if (entry === undefined) return;
    if (attempt !== this.#watched) {
      // A clock that was set forward meanwhile must not cut a run off early (T4).
      const left = entry.since + this.#limit - Math.min(this.settings.scheduler.now(), due);
      this.#watch(this.#slot, Math.min(Math.max(left, 0), this.#limit));
      return;
    }
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- it is what people of rxjs look for
    const error = new TimeoutError();
    error.message = `Reconciling \`${entry.id}\` took longer than ${String(this.#limit)} ms`;
    this.observer.overtime(error);
  }
}

/** Where a run's answer is awaited. It is used again by the next run, with its callbacks, unless it was cut off. */
class Slot implements Observer<unknown> {
  entry: Entry | undefined;
  attempt: Attempt | undefined;
  /** What is to be unsubscribed; promises have nothing of the kind. */
  subscription: Subscription | undefined;
  outcome: Outcome | undefined;
  /** The reconciler, or what it returned, is on the stack. */
  calling = false;
  isCut = false;
  #last: unknown;

  constructor(readonly observer: RunObserver) {}

  take(answer: unknown): void {
    if (answer === undefined || answer === null) this.fulfilled(undefined);
    // As `await` does it: a promise's own `then` may call back twice.
    else if (isPromiseLike(answer)) void Promise.prototype.then.call(Promise.resolve(answer), this.fulfilled, this.error);
    else if (isAsyncIterable(answer)) void lastOf(answer, this).then(this.fulfilled, this.error);
    else if (this.isCut || !isObservableInput(answer)) this.fulfilled(answer);
    else {
      const subscription = from(answer).subscribe(this);
      // One that has ended already must not be taken for that of the next run.
      if (this.outcome === undefined) this.subscription = subscription;
    }
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

  #settle(outcome: Outcome): void {
    const { entry } = this;
    if (this.calling) this.outcome = outcome;
    if (!this.isCut) {
      this.entry = this.subscription = this.#last = undefined;
      if (!this.calling) this.observer.settled(outcome);
    } else if (!this.calling && entry !== undefined) {
      this.observer.released(entry);
    }
  }
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
