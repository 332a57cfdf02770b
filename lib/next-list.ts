import { acquisitionOf, lastAcquisition } from './shards/ownership.js';

/** What a resync is to list next, by what it was told. */
export class NextList {
  #isAllWanted = false;
  #isAllUnderWay = false;
  /** The shards that have come, by what tells the shard of an id. */
  #acquired = new Map<(id: string) => number, Set<number>>();
  /** The last list of all was begun after this acquisition. */
  #begunAfter = 0;

  /** Whether there is something that the list under way does not serve. */
  get isWanted(): boolean {
    return this.#isAllWanted || this.#acquired.size > 0;
  }

  /** A round is due. One that comes while all are being listed is left out (Y1). */
  due(): void {
    this.#isAllWanted ||= !this.#isAllUnderWay;
  }

  /** Something says that there is to be a list as well. */
  add(notification: unknown): void {
    const acquisition = acquisitionOf(notification);
    if (acquisition === undefined) {
      this.#isAllWanted = true;
      return;
    }
    const { at, shardOf, shards } = acquisition;
    if (at > this.#begunAfter) this.#acquired.set(shardOf, new Set([...(this.#acquired.get(shardOf) ?? []), ...shards]));
  }

  /** A list begins: of all, if that was asked for, or of the shards that have come. Returns which ids are to be passed on. */
  begin(): (id: string) => boolean {
    const acquired = [...this.#acquired];
    const isOfAll = this.#isAllWanted;
    this.#isAllWanted = false;
    this.#acquired = new Map();
    if (!isOfAll) return (id) => !isId(id) || acquired.some(([shardOf, shards]) => shards.has(shardOf(id)));
    this.#isAllUnderWay = true;
    this.#begunAfter = lastAcquisition();
    return () => true;
  }

  end(): void {
    this.#isAllUnderWay = false;
  }
}

/** What is none has no shard: it is passed on, for the loop to reject it (Q4). */
function isId(id: unknown): boolean {
  return typeof id === 'string' && id !== '';
}
