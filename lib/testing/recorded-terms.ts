import type { Step } from '../../operators/types.js';
import { isAnswerOfRun, isMarkDropped } from './recorded-discards.js';

/** What became of the terms of one worker, if each worker has its own. */
export interface RecordedTerm {
  readonly worker: number;
  readonly what: 'begun' | 'revoked' | 'lost';
}

/** Tells from the steps of a loop whose workers have terms of their own (shards) when these began and ended. */
export class RecordedTerms {
  /** Whether they have: at least one step says so, or is of a worker that the configuration does not know. */
  readonly areThere: boolean;
  readonly #states = new Map<number, 'owned' | 'leaving'>();

  constructor(
    readonly steps: readonly Step[],
    workerCount: number,
  ) {
    this.areThere = steps.some(
      (step) => step.worker >= workerCount || (step.kind === 'rejected' && step.reason === 'not_owned') || isMoved(step),
    );
  }

  /** What must have come right before step `index`. */
  before(index: number): RecordedTerm[] {
    if (!this.areThere) return [];
    const step = this.steps[index] as Step;
    const { worker, trigger } = step;
    const state = this.#states.get(worker);
    if (worker < 0) return [];
    if (trigger !== undefined) {
      const isOwned = !(step.kind === 'rejected' && step.reason === 'not_owned');
      if (isOwned && state !== 'owned') return [this.#is(worker, 'owned', 'begun')];
      return !isOwned && state === 'owned' ? [this.#is(worker, 'leaving', 'revoked')] : [];
    }
    // A mark is enqueued before it is dropped, and after a run that left it.
    const answer = [index, index + 1, index + 2].find((at) => isMoved(this.steps[at]) && this.steps[at].id === step.id) ?? -1;
    const isFirst =
      answer === index || (answer === index + 1 && isMarkDropped(this.steps, answer)) || (answer >= 0 && isAnswerOfRun(this.steps, answer));
    const found = isFirst && state === 'owned' ? [this.#is(worker, 'leaving', 'revoked')] : [];
    // What runs is cut off at the end of the grace, and if the term is lost. The replay does not hear twice of it.
    if (isMoved(step) && step.took !== undefined && step.failure === undefined) found.push(this.lost(worker));
    return found;
  }

  lost(worker: number): RecordedTerm {
    this.#states.delete(worker);
    return { worker, what: 'lost' };
  }

  #is(worker: number, state: 'owned' | 'leaving', what: RecordedTerm['what']): RecordedTerm {
    this.#states.set(worker, state);
    return { worker, what };
  }
}

export function isMoved(step: Step | undefined): step is Extract<Step, { kind: 'dropped' }> {
  return step?.kind === 'dropped' && step.reason === 'moved';
}
