/** What is paused in a loop, and why (C1): ids, and the loop as a whole. It outlives terms, and lanes, which are born late. */
export class Pauses {
  readonly #ids = new Map<string, string | undefined>();
  #loop: { readonly why: string | undefined } | undefined;
  /** Nobody can resume anything any more. */
  isFinal = false;
  /** Nothing is paused at all, which is asked for each event. */
  isNone = true;

  /** Whether the whole loop is paused. */
  get all(): boolean {
    return this.#loop !== undefined;
  }

  /** Whether something is paused that nobody can resume. */
  get isForEver(): boolean {
    return this.isFinal && (this.#loop !== undefined || this.#ids.size > 0);
  }

  /** Whether `id` may not start, because of itself or of the loop. */
  has(id: string): boolean {
    return this.#loop !== undefined || (this.#ids.size > 0 && this.#ids.has(id));
  }

  /** The ids that are paused themselves. */
  get ids(): ReadonlyMap<string, string | undefined> {
    return this.#ids;
  }

  /** Why the whole loop is paused, if somebody said so. */
  get why(): string | undefined {
    return this.#loop?.why;
  }

  /** @returns whether that changed anything */
  pause(id: string | undefined, why: string | undefined): boolean {
    if (id === undefined ? this.#loop !== undefined : this.#ids.has(id)) return false;
    if (id === undefined) this.#loop = { why };
    else this.#ids.set(id, why);
    this.isNone = false;
    return true;
  }

  /** @returns whether that changed anything */
  resume(id: string | undefined): boolean {
    const wasPaused = id === undefined ? this.#loop !== undefined : this.#ids.delete(id);
    if (id === undefined) this.#loop = undefined;
    this.isNone = this.#loop === undefined && this.#ids.size === 0;
    return wasPaused;
  }
}
