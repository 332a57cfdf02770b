import type { Dropped, Rejected, Requeued, Step, Succeeded } from '../operators/types.js';

/** The steps that may end it for a message. */
export type MessageOutcome = Succeeded | Requeued | Rejected | Dropped;

/** What the broker is to be told: an ack for a run that ended well, else a nack. */
export interface Answer<M> {
  readonly message: M;
  readonly step: MessageOutcome;
}

/** The messages of one id that are in flight. */
interface Held<M> {
  /** Those that a run has started for. If it fails they stay here, for the retry. */
  readonly running: M[];
  /** Those that have come since: for them the next run has to start first. */
  readonly waiting: M[];
}

/** Which messages are in flight, and for which run each one waits. */
export class InFlightMessages<M> {
  readonly #ids = new Map<string, Held<M>>();
  /** In how many ids each message is, and whether one of them was dropped, so that it has been answered. */
  readonly #messages = new Map<M, { ids: number; isAnswered: boolean }>();

  /** @returns what the broker is to be told because of this step */
  enter(step: Step): readonly Answer<M>[] {
    const message = step.trigger?.message as M | undefined;
    if (message !== undefined) this.#count(message);
    if (step.kind === 'rejected') return message === undefined ? [] : this.#settle([message], step);
    if (message !== undefined) this.#hold(step.id).waiting.push(message);
    const held = this.#ids.get(step.id);
    return held === undefined ? [] : this.#settle(this.#settled(held, step), step as MessageOutcome);
  }

  #count(message: M): void {
    const { ids = 0, isAnswered = false } = this.#messages.get(message) ?? {};
    this.#messages.set(message, { ids: ids + 1, isAnswered });
  }

  #hold(id: string): Held<M> {
    const held = this.#ids.get(id) ?? { running: [], waiting: [] };
    this.#ids.set(id, held);
    return held;
  }

  /** Takes out the messages for which the step is the end of it. */
  #settled({ running, waiting }: Held<M>, step: Step): readonly M[] {
    switch (step.kind) {
      case 'started':
        for (const message of waiting.splice(0)) running.push(message);
        return [];
      case 'succeeded':
        return running.splice(0);
      case 'requeued':
        return step.failure === undefined ? running.splice(0) : [];
      case 'dropped':
        // Dropped by a run: what came during it has marked the id, and gets a run or a drop of its own.
        return step.took === undefined ? [...running.splice(0), ...waiting.splice(0)] : running.splice(0);
      default:
        return [];
    }
  }

  #settle(messages: readonly M[], step: MessageOutcome): readonly Answer<M>[] {
    const held = this.#ids.get(step.id);
    if (held?.running.length === 0 && held.waiting.length === 0) this.#ids.delete(step.id);
    return messages.filter((message) => this.#isToBeAnswered(message, step)).map((message) => ({ message, step }));
  }

  #isToBeAnswered(message: M, step: MessageOutcome): boolean {
    const { ids = 1, isAnswered = false } = this.#messages.get(message) ?? {};
    const isAnsweredNow = !isAnswered && (ids === 1 || !isGood(step));
    if (ids === 1) this.#messages.delete(message);
    else this.#messages.set(message, { ids: ids - 1, isAnswered: isAnswered || isAnsweredNow });
    return isAnsweredNow;
  }
}

/** Whether the run ended well; asking for a requeue is no failure. */
export function isGood(step: MessageOutcome): step is Succeeded | Requeued {
  return step.kind === 'succeeded' || step.kind === 'requeued';
}
