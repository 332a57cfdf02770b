import { isCausedBy } from './errors.js';
import type { Reason, ReconcileContext } from './types.js';

/** The context of one run. Whoever extends it by prototype keeps the signal lazy. */
export class Attempt implements ReconcileContext {
  #controller: AbortController | undefined;
  /** Why it was cut off. Made only for whoever has the signal: an error is expensive, as a signal is. */
  #cut: (() => Error) | undefined;
  /** A newer event has superseded this run; once somebody has asked, the signal that says so. */
  #superseded: AbortController | true | undefined;

  constructor(
    readonly id: string,
    readonly worker: number,
    readonly workerName: string,
    readonly attempt: number,
    readonly reason: Reason,
    readonly streams: readonly string[],
  ) {}

  get signal(): AbortSignal {
    const run = ownerOf(this);
    if (run.#controller === undefined) {
      run.#controller = new AbortController();
      if (run.#cut !== undefined) run.#controller.abort(run.#cut());
    }
    return run.#controller.signal;
  }

  abort(reason: () => Error): void {
    this.#cut = reason;
    this.#controller?.abort(reason());
  }

  get superseded(): AbortSignal {
    const run = ownerOf(this);
    const known = run.#superseded;
    if (known instanceof AbortController) return known.signal;
    const controller = new AbortController();
    run.#superseded = controller;
    if (known === true) controller.abort(newer());
    return controller.signal;
  }

  /** A newer event has come. What is returned, if somebody listens, is to be called once that event was told of (W7). */
  supersede(): (() => void) | undefined {
    const known = this.#superseded;
    if (known instanceof AbortController)
      return () => {
        known.abort(newer());
      };
    this.#superseded = true;
    return undefined;
  }

  /** Whether a run that failed by `error` did so because it was superseded. */
  gaveWayBy(error: unknown): boolean {
    const known = this.#superseded;
    return known instanceof AbortController && known.signal.aborted && isCausedBy(error, known.signal.reason);
  }

  static isAttempt(value: object): value is Attempt {
    return #controller in value;
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
