import type { Paused, Resumed } from '../../../operators/types.js';

/** What is paused in a loop, and since when. */
export class PauseMetrics {
  readonly #ids = new Map<string, number>();
  #loop: number | undefined;

  /** How many ids are paused themselves. */
  get ids(): number {
    return this.#ids.size;
  }

  /** Whether the whole loop is. */
  get loop(): boolean {
    return this.#loop !== undefined;
  }

  /** When the oldest of these pauses began; Infinity if there is none. */
  get oldest(): number {
    let oldest = this.#loop ?? Infinity;
    for (const since of this.#ids.values()) oldest = Math.min(oldest, since);
    return oldest;
  }

  /** Whether `id` starts nothing, be it paused itself or with the loop. */
  has(id: string): boolean {
    return this.loop || this.#ids.has(id);
  }

  follow({ kind, id, at }: Paused | Resumed): void {
    const isPaused = kind === 'paused';
    if (id === '') this.#loop = isPaused ? at : undefined;
    else if (isPaused) this.#ids.set(id, at);
    else this.#ids.delete(id);
  }
}
