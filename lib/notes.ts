import type { Paused, Resumed, Step } from '../operators/types.js';
import { describeError, type ErrorDescription } from './describe-error.js';

/** Since when something is paused, in ms on the scheduler's clock, and why, if that was said. */
export interface Pause {
  readonly since: number;
  readonly why?: string;
}

/** What the steps of a loop say that its queues do not keep: who is paused since when, and with which error an id has failed. */
export class Notes {
  readonly #pauses = new Map<string, Pause>();
  readonly #failures = new Map<string, { readonly error: unknown; readonly at: number }>();
  #loopPause: Pause | undefined;

  /** @param told - hears of the steps by which an id is paused and resumed */
  constructor(readonly told: (step: Paused | Resumed) => void = () => undefined) {}

  /** The ids that are paused themselves. */
  get pauses(): ReadonlyMap<string, Pause> {
    return this.#pauses;
  }

  /** Whether the whole loop is paused. */
  get loopPause(): Pause | undefined {
    return this.#loopPause;
  }

  /** What the last run of `id` failed with; nothing once it has succeeded or was given up. */
  lastErrorOf(id: string): (ErrorDescription & { readonly at: number }) | undefined {
    const failure = this.#failures.get(id);
    return failure && { ...describeError(failure.error), at: failure.at };
  }

  /** To be called with each step. */
  enter(step: Step): void {
    const { id, at } = step;
    switch (step.kind) {
      case 'requeued':
        if (step.failure === undefined) this.#failures.delete(id);
        else if (step.failure !== 'superseded') this.#failures.set(id, { error: step.error, at });
        break;
      case 'succeeded':
      case 'dropped':
        if (this.#failures.size > 0) this.#failures.delete(id);
        break;
      case 'paused':
        this.#pause(step, { since: at, ...(step.why !== undefined && { why: step.why }) });
        break;
      case 'resumed':
        this.#pause(step, undefined);
    }
  }

  #pause(step: Paused | Resumed, pause: Pause | undefined): void {
    const { id } = step;
    if (id === '') {
      this.#loopPause = pause;
      return;
    }
    if (pause === undefined) this.#pauses.delete(id);
    else this.#pauses.set(id, pause);
    this.told(step);
  }
}
