import { isCausedBy } from './errors.js';
import type { Reason, ReconcileContext } from './types.js';

interface Signals {
  run: AbortController | undefined;
  /** Why it was cut off. Made only for whoever has the signal: an error is expensive, as a signal is. */
  cut: (() => Error) | undefined;
  /** What says that a newer event has superseded this run, once somebody has asked. */
  newer: AbortController | undefined;
  isSuperseded: boolean;
}

/** The context of one run. Whoever extends it by prototype keeps the signal lazy. */
export class Attempt implements ReconcileContext {
  /** What few runs need is made when it is first needed: a run costs nothing but its allocations. */
  #signals: Signals | undefined;

  constructor(
    readonly id: string,
    readonly worker: number,
    readonly workerName: string,
    readonly attempt: number,
    readonly reason: Reason,
    readonly streams: readonly string[],
  ) {}

  get signal(): AbortSignal {
    const signals = ownerOf(this).#made;
    if (signals.run === undefined) {
      signals.run = new AbortController();
      if (signals.cut !== undefined) signals.run.abort(signals.cut());
    }
    return signals.run.signal;
  }

  abort(reason: () => Error): void {
    this.#made.cut = reason;
    this.#made.run?.abort(reason());
  }

  get superseded(): AbortSignal {
    const signals = ownerOf(this).#made;
    if (signals.newer === undefined) {
      signals.newer = new AbortController();
      if (signals.isSuperseded) signals.newer.abort(newer());
    }
    return signals.newer.signal;
  }

  /** A newer event has come. If somebody listens, what is returned is to be called once the step of that event was seen (W7). */
  supersede(): (() => void) | undefined {
    const signals = this.#made;
    if (signals.newer !== undefined) return () => signals.newer?.abort(newer());
    signals.isSuperseded = true;
    return undefined;
  }

  /** Whether a run that failed by `error` did so because it was superseded. */
  gaveWayBy(error: unknown): boolean {
    const signal = this.#signals?.newer?.signal;
    return signal?.aborted === true && isCausedBy(error, signal.reason);
  }

  get #made(): Signals {
    return (this.#signals ??= { run: undefined, cut: undefined, newer: undefined, isSuperseded: false });
  }

  static isAttempt(value: object): value is Attempt {
    return #signals in value;
  }
}

/** The getter may be called on an object that only inherits from the attempt, and has no private fields. */
function ownerOf(context: Attempt): Attempt {
  let owner: object = context;
  while (!Attempt.isAttempt(owner)) owner = Object.getPrototypeOf(owner) as object;
  return owner;
}

function newer(): Error {
  return new DOMException('A newer event for this id has come', 'AbortError');
}
