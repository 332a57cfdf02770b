import { acquisitionOf, lastAcquisition } from './shards/ownership.js';

/** What a resync is to list next, by what it was told. */
export class NextList {
  #isAllWanted = false;
  /** The shards that have come, by what tells the shard of an id. */
  #acquired = new Map<(id: string) => number, Set<number>>();
  /** The last list of all was begun after this acquisition. */
  #begunAfter = 0;
  /** It was begun just now: what is said in the same breath, as when many shards come at once, was true before it. */
  #isJustBegun = false;

  /** Whether there is something that the list under way does not serve. */
  get isWanted(): boolean {
    return this.#isAllWanted || this.#acquired.size > 0;
  }

  /** @returns whether that notification asks for a list */
  add(notification: unknown): boolean {
    const acquisition = acquisitionOf(notification);
    if (acquisition === undefined) {
      this.#isAllWanted = true;
      return true;
    }
    if (acquisition.at <= this.#begunAfter || this.#isJustBegun) return false;
    const { shardOf, shards } = acquisition;
    this.#acquired.set(shardOf, new Set([...(this.#acquired.get(shardOf) ?? []), ...shards]));
    return true;
  }

  /** A list begins: of what was asked for, or if nothing was, of all. Returns which ids are to be passed on. */
  begin(): (id: string) => boolean {
    const acquired = [...this.#acquired];
    const isOfAll = this.#isAllWanted || !this.isWanted;
    this.#isAllWanted = false;
    this.#acquired = new Map();
    if (!isOfAll) return (id) => !isId(id) || acquired.some(([shardOf, shards]) => shards.has(shardOf(id)));
    this.#begunAfter = lastAcquisition();
    this.#isJustBegun = true;
    queueMicrotask(() => {
      this.#isJustBegun = false;
    });
    return () => true;
  }

  /** The list has ended: what comes now is not in it. */
  end(): void {
    this.#isJustBegun = false;
  }
}

/** What is none has no shard: it is passed on, for the loop to reject it (Q4). */
function isId(id: unknown): boolean {
  return typeof id === 'string' && id !== '';
}
