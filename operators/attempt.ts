import type { Reason, ReconcileContext } from './types.js';

/** The context of one run. Whoever extends it by prototype keeps the signal lazy. */
export class Attempt implements ReconcileContext {
  #controller: AbortController | undefined;
  /** Why it was cut off. Made only for whoever has the signal: an error is expensive, as a signal is. */
  #cut: (() => Error) | undefined;

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
