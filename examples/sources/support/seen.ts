/**
 * The ids that were emitted as there, to tell which of them a list misses. A removed one is kept until twice confirmed: its run
 * may come late, find it made again, and then nobody has heard of that, nor of its removal, if the connection was lost meanwhile.
 */
export class Seen {
  readonly #present = new Set<string>();
  #removed: readonly [Set<string>, Set<string>] = [new Set(), new Set()];

  add(id: string): void {
    this.#present.add(id);
  }

  remove(id: string): void {
    this.#present.delete(id);
    this.#removed[0].add(id);
  }

  /** Those that a list does not hold. */
  missing(list: ReadonlySet<string>): readonly string[] {
    const missing = [...new Set([...this.#present, ...this.#removed[0], ...this.#removed[1]])].filter((id) => !list.has(id));
    for (const id of missing) if (this.#present.has(id)) this.remove(id);
    return missing;
  }

  confirm(): void {
    this.#removed = [new Set(), this.#removed[0]];
  }
}
