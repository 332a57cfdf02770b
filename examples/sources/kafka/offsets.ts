/** The messages of a partition that were delivered, and what of them may be committed. */
export class Offsets {
  readonly #open = new Set<bigint>();
  #next: bigint;
  /** How many are with the loop: delivered, and not answered in one way or another. */
  pending = 0;
  /** What the group has committed. */
  committed: bigint;
  /** Whether the partition was lost by a rebalance: nothing of it is committed or delivered any more. */
  isLost = false;

  /** @param first the offset of the first message that is delivered */
  constructor(
    readonly partition: number,
    first: bigint,
  ) {
    this.#next = first;
    this.committed = first;
  }

  /** The offset of the first message that is not done: with it begins whoever has the partition next. */
  get committable(): bigint {
    const [first = this.#next] = this.#open;
    return first;
  }

  /** How many are not done. */
  get size(): number {
    return this.#open.size;
  }

  add(offset: bigint): void {
    this.#open.add(offset);
    this.#next = offset + 1n;
  }

  done(offset: bigint): void {
    this.#open.delete(offset);
  }
}
