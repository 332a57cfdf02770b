import { RefusedError } from './answers.js';

/** How many may wait. */
const LONGEST = 100;

/**
 * Looks at all ids one after another, so that many readers cost the loop no more than one does; who asks for what another already
 * waits for shares it (V3).
 */
export class Turns {
  readonly #waiting = new Map<string, Promise<unknown>>();
  #last: Promise<unknown> = Promise.resolve();

  /** @throws RefusedError if too many wait already */
  async take<T>(key: string, look: () => Promise<T>): Promise<T> {
    const same = this.#waiting.get(key);
    if (same !== undefined) return same as Promise<T>;
    if (this.#waiting.size >= LONGEST) throw new RefusedError(503, 'Too many ask at once; try again');
    const turn = this.#last.then(() => {
      this.#waiting.delete(key);
      return look();
    });
    this.#waiting.set(key, turn);
    this.#last = turn.catch(() => undefined);
    return turn;
  }
}
