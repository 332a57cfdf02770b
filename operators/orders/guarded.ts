import { check } from '../check.js';
import { shown } from '../shown.js';
import type { ReadyItem, ReadyQueue } from './ready-queue.js';

/** An order that somebody wrote, held to the rules: one that breaks them has lost its ids, and the loop with them (P4). */
export class Guarded implements ReadyQueue {
  #order: ReadyQueue | undefined;
  /** How many items stand in it, and how many runs that it began are on. */
  #standing = 0;
  #begun = 0;
  /** It is at work, and may be asking users. */
  isAsked = false;

  /**
   * @param stands - whether an item was pushed, and neither given nor removed since
   * @param broken - told once if it breaks a rule; it is not asked after that, and gives nothing
   */
  constructor(
    order: () => ReadyQueue,
    readonly stands: (item: ReadyItem) => boolean,
    readonly broken: (why: string, cause?: unknown) => void,
  ) {
    this.#order = this.#asked('it could not be made', () => checked(order()));
  }

  push(item: ReadyItem): void {
    this.#standing++;
    this.#asked('it threw', () => this.#order?.push(item));
  }

  shift(): ReadyItem | undefined {
    if (this.#standing === 0 || this.isAsked) return undefined;
    const item = this.#asked('it threw', () => this.#order?.shift());
    if (this.#order === undefined) return undefined;
    if (item === undefined) {
      if (this.#begun === 0) this.#break(`\`shift\` gave nothing, though ${String(this.#standing)} items are there and none of them runs`);
      return undefined;
    }
    if (!this.stands(item)) {
      this.#break(`\`shift\` gave ${shown(item)}, which is not there`);
      return undefined;
    }
    this.#standing--;
    this.#begun++;
    return item;
  }

  remove(item: ReadyItem): void {
    this.#standing--;
    this.#asked('it threw', () => this.#order?.remove(item));
  }

  ended(item: ReadyItem): void {
    this.#begun--;
    this.#asked('it threw', () => this.#order?.ended(item));
  }

  /** Only asked so that somebody may look: what it throws breaks nothing. */
  holds(item: ReadyItem): boolean {
    try {
      return this.#order?.holds?.(item) === true;
    } catch {
      return false;
    }
  }

  #asked<T>(why: string, ask: () => T): T | undefined {
    const wasAsked = this.isAsked;
    this.isAsked = true;
    try {
      return ask();
    } catch (error) {
      this.#break(why, error);
      return undefined;
    } finally {
      this.isAsked = wasAsked;
    }
  }

  #break(why: string, cause?: unknown): void {
    this.#order = undefined;
    this.broken(why, cause);
  }
}

/** @throws TypeError if it is no queue */
function checked(queue: ReadyQueue): ReadyQueue {
  const { push, shift, remove, ended } = Object(queue) as Partial<ReadyQueue>;
  const isQueue = [push, shift, remove, ended].every((method) => typeof method === 'function');
  check('order', queue, 'a function that returns a ReadyQueue', isQueue);
  return queue;
}
