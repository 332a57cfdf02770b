import type { Subscription } from 'rxjs';
import { after } from './after.js';
import { Attempt } from './attempt.js';
import type { ReconcileSettings } from './config.js';
import type { Entry } from './entry.js';
import type { Outcome } from './outcome.js';
import { Slot, type SlotObserver, unsubscribed } from './slot.js';
import type { Reconciler } from './types.js';

/** What becomes of runs that did not end while they were called. */
export interface RunObserver extends SlotObserver {
  /** The run in hand has taken `maxReconcileTime`. */
  overtime(): void;
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

  /** The run in hand: from `take` until whoever has noted its outcome says so by `recorded`, or until it is cut off. */
  get entry(): Entry | undefined {
    return this.#slot.entry;
  }

  /** The run of `entry` is the next one. */
  take(entry: Entry): void {
    this.#slot.entry = entry;
    entry.slot = this.#slot;
  }

  /** Begins the run in hand; `undefined` means that the outcome comes later, or, if it was cut off meanwhile, not at all. */
  run(entry: Entry): Outcome | undefined {
    const { id, attempt, reason, streams } = entry;
    const { reconciler } = this;
    const slot = this.#slot;
    slot.onStack = true;
    try {
      const workerName = (this.#workerName ??= this.settings.workerName(this.worker));
      const context = (slot.context = new this.Context(id, this.worker, workerName, attempt, reason, streams));
      // To name the worker is user code, which may have cut the run off before it began.
      if (slot.isCut) slot.fulfilled(undefined);
      else slot.take(reconciler(id, context));
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
    if (slot.entry !== undefined) slot.entry.slot = undefined;
    slot.entry = slot.context = slot.subscription = undefined;
    slot.hasEnded = false;
  }

  /** Takes the run in hand, if there is one, out of it: whatever it says from now on is its own. */
  cutOff(): CutRun | undefined {
    const slot = this.#slot;
    const { entry, context, subscription, onStack, hasEnded } = slot;
    if (entry === undefined) return undefined;
    // Its start may have been seen, although it was not called yet.
    const open = context !== undefined && !hasEnded && (subscription === undefined || onStack);
    slot.isCut = true;
    slot.isOpen = open;
    entry.slot = undefined;
    this.#slot = new Slot(this.observer);
    return {
      entry,
      open,
      end: (reason) => {
        if (!onStack) unsubscribed(subscription);
        context?.abort(reason);
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
    if (this.#limit === Infinity || (this.#probe !== undefined && this.#watchdog !== undefined)) return;
    this.#letOut();
  }

  /** Lets out the watchdog, or if it is out, for another run perhaps, the probe. */
  #letOut(): void {
    const { scheduler } = this.settings;
    if (this.#watchdog === undefined) {
      this.#watched = this.#context;
      // eslint-disable-next-line rxjs-x/no-ignored-error -- it cannot fail
      this.#watchdog = after(this.#limit, scheduler).subscribe(() => {
        this.#watchdog = undefined;
        this.#alarm();
      });
    } else {
      // eslint-disable-next-line rxjs-x/no-ignored-error -- it cannot fail
      const probe = after(0, scheduler).subscribe(() => {
        this.#probe = undefined;
        if (this.#context === undefined || this.#context === this.#watched) return;
        this.#watchdog?.unsubscribe();
        this.#watchdog = undefined;
        this.#watch();
      });
      // Some schedulers do at once what has no delay.
      if (!probe.closed) this.#probe = probe;
    }
  }

  /** That of the run in hand, once it was called. */
  get #context(): Attempt | undefined {
    return this.#slot.context;
  }

  #alarm(): void {
    if (this.#context === undefined) return;
    if (this.#context !== this.#watched) {
      this.#watch();
      return;
    }
    this.observer.overtime();
  }
}
