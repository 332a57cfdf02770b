import { markedAnew } from '../operators/marked-anew.js';
import type { Dropped, Rejected, Requeued, Step, Succeeded, Trigger } from '../operators/types.js';

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
  /** How many of these came before a discard, while others came after it. */
  discarded: number;
}

/** What has become of the triggers into which one message was split. */
interface Progress {
  /** How many of them are in flight. */
  open: number;
  /** How many of them have not come yet. */
  missing: number;
  /** One of them was dropped, so that the broker has been told. */
  isAnswered: boolean;
}

/** A message, and into how many triggers it was split, if it says so. */
interface Part {
  readonly message?: unknown;
  readonly parts?: number | undefined;
}

/** Which messages are in flight, and for which run each one waits. */
export class InFlightMessages<M> {
  readonly #ids = new Map<string, Held<M>>();
  readonly #progress = new ProgressMap();

  /** @param partsOf - what a trigger is to answer; by default its message, and those of what it has absorbed */
  constructor(readonly partsOf: (trigger: Trigger) => readonly Part[] = unfolded) {}

  /** Whether no id has a message in flight. */
  get isEmpty(): boolean {
    return this.#ids.size === 0;
  }

  /** The messages that ids in flight are to answer, each once. */
  get unanswered(): ReadonlySet<M> {
    const all = [...this.#ids.values()].flatMap(({ running, waiting }) => [...running, ...waiting]);
    return new Set(all.filter((message) => this.#progress.get(message)?.isAnswered === false));
  }

  /** @returns what the broker is to be told because of this step */
  enter(step: Step): readonly Answer<M>[] {
    const { trigger } = step;
    const messages = trigger === undefined ? [] : this.#enterTrigger(trigger);
    if (step.kind === 'rejected') return this.#settle(messages, step);
    if (step.kind === 'merged' && markedAnew.has(step)) this.#part(step.id);
    for (const message of messages) this.#hold(step.id).waiting.push(message);
    const held = this.#ids.get(step.id);
    return held === undefined ? [] : this.#settle(this.#settled(held, step), step as MessageOutcome);
  }

  /** @returns the messages of a trigger and of those that it has absorbed */
  #enterTrigger(trigger: Trigger): readonly M[] {
    const messages: M[] = [];
    for (const { message, parts } of this.partsOf(trigger)) {
      if (message === undefined) continue;
      this.#progress.enter(message, parts);
      messages.push(message as M);
    }
    return messages;
  }

  #hold(id: string): Held<M> {
    const held = this.#ids.get(id) ?? { running: [], waiting: [], discarded: 0 };
    this.#ids.set(id, held);
    return held;
  }

  /** What waits there so far came before a discard. */
  #part(id: string): void {
    const held = this.#ids.get(id);
    if (held !== undefined) held.discarded = held.waiting.length;
  }

  /** Takes out the messages for which the step is the end of it. */
  #settled(held: Held<M>, step: Step): readonly M[] {
    const { running, waiting } = held;
    switch (step.kind) {
      case 'started':
        for (const message of waiting.splice(0)) running.push(message);
        return [];
      case 'succeeded':
        return running.splice(0);
      case 'requeued':
        return step.failure === undefined ? running.splice(0) : [];
      case 'dropped':
        // The mark of a run that was discarded: what came after that has made another one.
        if (markedAnew.has(step)) return waiting.splice(0, held.discarded);
        // Dropped by a run: what came during it has marked the id, and gets a run or a drop of its own.
        return step.took === undefined ? [...running.splice(0), ...waiting.splice(0)] : running.splice(0);
      default:
        return [];
    }
  }

  #settle(messages: readonly M[], step: MessageOutcome): readonly Answer<M>[] {
    const held = this.#ids.get(step.id);
    if (held?.running.length === 0 && held.waiting.length === 0) this.#ids.delete(step.id);
    return messages.filter((message) => this.#progress.settle(message, isGood(step))).map((message) => ({ message, step }));
  }
}

/** The progress of each message, as long as there is something left of it. */
class ProgressMap {
  /** Weak, because the parts that are missing may never come. */
  readonly #objects = new WeakMap<object, Progress>();
  readonly #primitives = new Map<unknown, Progress>();

  get(message: unknown): Progress | undefined {
    return isObject(message) ? this.#objects.get(message) : this.#primitives.get(message);
  }

  /** One trigger of a message that was split into `parts` has come. */
  enter(message: unknown, parts: number | undefined): void {
    const known = this.get(message);
    if (known === undefined) {
      const missing = parts !== undefined && Number.isInteger(parts) && parts > 0 ? parts - 1 : 0;
      const progress = { open: 1, missing, isAnswered: false };
      if (isObject(message)) this.#objects.set(message, progress);
      else this.#primitives.set(message, progress);
    } else {
      known.open++;
      if (known.missing > 0) known.missing--;
    }
  }

  /**
   * One trigger of a message is done with, and the message as well if it was the last.
   *
   * @returns whether the broker is to be told now
   */
  settle(message: unknown, isGood: boolean): boolean {
    const progress = this.get(message);
    if (progress === undefined) return false;
    const isLast = --progress.open === 0 && progress.missing === 0;
    const isToBeAnswered = !progress.isAnswered && (isLast || !isGood);
    progress.isAnswered ||= isToBeAnswered;
    if (isLast && isObject(message)) this.#objects.delete(message);
    else if (isLast) this.#primitives.delete(message);
    return isToBeAnswered;
  }
}

function isObject(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}

/** A trigger and all that it has absorbed, and what these have absorbed. */
function unfolded(trigger: Trigger): readonly Trigger[] {
  if (trigger.absorbed === undefined) return [trigger];
  const all = [trigger];
  for (const { absorbed = [] } of all) for (const one of absorbed) all.push(one);
  return all;
}

/** Whether the run ended well; asking for a requeue is no failure. */
export function isGood(step: MessageOutcome): step is Succeeded | Requeued {
  return step.kind === 'succeeded' || step.kind === 'requeued';
}
