/** What an {@link IdIndex} strings together. The link is the index's; a node is in one index at a time. */
export interface IdNode<T> {
  readonly id: string;
  /** `hashOf(id)`. */
  readonly hash: number;
  nextInBucket: T | undefined;
  /** Its place in the order in which nodes were added; the index sets it. */
  sequence: number;
}

const PRIME = 0x01000193;

/** How many buckets there are at least; a power of two, as always. */
const FEWEST = 16;

/** Buckets are shorter than 1 on average. One as long as this is no accident. */
const LONGEST = 16;

/**
 * FNV-1a over the UTF-16 units of `id` but for the last: ids that differ in it only, as those do that are numbered, are
 * neighbours in the table, and come from memory together.
 */
export function hashOf(id: string): number {
  const last = id.length - 1;
  let hash = 0x811c9dc5;
  for (let i = 0; i < last; i++) hash = Math.imul(hash ^ id.charCodeAt(i), PRIME);
  // The index looks at the low bits, so the high ones are folded into them.
  return (hash ^ (hash >>> 15) ^ id.charCodeAt(last)) & 0x3fffffff;
}

/**
 * A hash table of nodes by their id, which allocates nothing for a node: the links are in the nodes.
 *
 * A Map would do, but one through which ids flow copies itself again and again, and its dead copies keep each other alive
 * until the next full garbage collection: that took more time than all else a loop does.
 *
 * Whoever chooses ids can choose such as collide. These go to a Map, whose hash is a secret, once their bucket is full.
 */
export class IdIndex<T extends IdNode<T>> {
  #buckets = buckets<T>(FEWEST);
  readonly #overflow = new Map<string, T>();
  #size = 0;
  /** With more nodes, or fewer, the table is resized. */
  #most = FEWEST / 2;
  #least = 0;
  #additions = 0;

  get size(): number {
    return this.#size;
  }

  get(id: string, hash = hashOf(id)): T | undefined {
    let node = this.#buckets[hash & (this.#buckets.length - 1)];
    while (node !== undefined && (node.hash !== hash || node.id !== id)) node = node.nextInBucket;
    return node ?? (this.#overflow.size > 0 ? this.#overflow.get(id) : undefined);
  }

  /** No node of the same id must be there. */
  add(node: T): void {
    node.sequence = this.#additions++;
    if (++this.#size > this.#most) this.#resize(2 * this.#buckets.length);
    this.#link(node);
  }

  remove(node: T): void {
    const at = node.hash & (this.#buckets.length - 1);
    let before = this.#buckets[at];
    if (before === node) {
      this.#buckets[at] = node.nextInBucket;
    } else {
      while (before !== undefined && before.nextInBucket !== node) before = before.nextInBucket;
      if (before !== undefined) before.nextInBucket = node.nextInBucket;
      else if (!this.#overflow.delete(node.id)) return;
    }
    node.nextInBucket = undefined;
    if (--this.#size < this.#least) this.#resize(this.#buckets.length / 2);
  }

  clear(): void {
    this.#size = 0;
    this.#replace(FEWEST);
  }

  /** All nodes, in the order in which they were added. */
  values(): T[] {
    const nodes = [...this.#overflow.values()];
    for (let node of this.#buckets) {
      for (; node !== undefined; node = node.nextInBucket) nodes.push(node);
    }
    return nodes.sort((a, b) => a.sequence - b.sequence);
  }

  /** All nodes, strung together, but for those in `overflow`. Another array when the table was resized. */
  get buckets(): readonly (T | undefined)[] {
    return this.#buckets;
  }

  /** Those that have no place in a bucket. */
  get overflow(): ReadonlyMap<string, T> {
    return this.#overflow;
  }

  #resize(length: number): void {
    const before = this.#buckets;
    const overflow = [...this.#overflow.values()];
    this.#replace(length);
    for (const node of overflow) this.#link(node);
    for (let node of before) {
      while (node !== undefined) {
        const next: T | undefined = node.nextInBucket;
        this.#link(node);
        node = next;
      }
    }
  }

  #replace(length: number): void {
    this.#buckets = buckets(length);
    this.#overflow.clear();
    this.#most = length / 2;
    this.#least = length === FEWEST ? 0 : length / 8;
  }

  #link(node: T): void {
    const at = node.hash & (this.#buckets.length - 1);
    const first = this.#buckets[at];
    let length = 0;
    for (let other = first; other !== undefined; other = other.nextInBucket) length++;
    node.nextInBucket = undefined;
    if (length === LONGEST) {
      this.#overflow.set(node.id, node);
    } else {
      node.nextInBucket = first;
      this.#buckets[at] = node;
    }
  }
}

/**
 * Calls `visit` with each node that is there all the while, once, as many buckets at a time as the returned function is told; it
 * answers whether it is through. If the table was resized meanwhile, the walk begins anew with `restarted`.
 */
export function walkOf<T extends IdNode<T>>(
  index: IdIndex<T>,
  visit: (node: T) => void,
  restarted: () => void,
): (count: number) => boolean {
  let walked = index.buckets;
  let at = 0;
  return (count) => {
    if (walked !== index.buckets) {
      walked = index.buckets;
      at = 0;
      restarted();
    }
    for (const end = Math.min(at + count, walked.length); at < end; at++) {
      for (let node = walked[at]; node !== undefined; node = node.nextInBucket) visit(node);
    }
    if (at < walked.length) return false;
    for (const node of index.overflow.values()) visit(node);
    return true;
  };
}

function buckets<T>(length: number): (T | undefined)[] {
  return new Array<T | undefined>(length).fill(undefined);
}
