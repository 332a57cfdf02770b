/** What an {@link IdIndex} strings together. The link is the index's; a node is in one index at a time. */
export interface IdNode<T> {
  readonly id: string;
  /** `hashOf(id)`. */
  readonly hash: number;
  sibling: T | undefined;
  /** Its place in the order in which nodes were added; the index sets it. */
  born: number;
}

const PRIME = 0x01000193;

/** How many chains there are at least; a power of two, as always. */
const FEWEST = 16;

/** Chains are shorter than 1 on average. One as long as this is no accident. */
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
 * Whoever chooses ids can choose such as collide. These go to a Map, whose hash is a secret, once their chain is full.
 */
export class IdIndex<T extends IdNode<T>> {
  #chains = chains<T>(FEWEST);
  readonly #crowded = new Map<string, T>();
  #size = 0;
  #births = 0;

  get size(): number {
    return this.#size;
  }

  get(id: string, hash = hashOf(id)): T | undefined {
    let node = this.#chains[hash & (this.#chains.length - 1)];
    while (node !== undefined && (node.hash !== hash || node.id !== id)) node = node.sibling;
    return node ?? (this.#crowded.size > 0 ? this.#crowded.get(id) : undefined);
  }

  /** No node of the same id must be there. */
  add(node: T): void {
    node.born = this.#births++;
    if (2 * ++this.#size > this.#chains.length) this.#resize(2 * this.#chains.length);
    this.#link(node);
  }

  remove(node: T): void {
    const at = node.hash & (this.#chains.length - 1);
    let before = this.#chains[at];
    if (before === node) {
      this.#chains[at] = node.sibling;
    } else {
      while (before !== undefined && before.sibling !== node) before = before.sibling;
      if (before !== undefined) before.sibling = node.sibling;
      else if (!this.#crowded.delete(node.id)) return;
    }
    node.sibling = undefined;
    this.#size--;
    if (this.#chains.length > FEWEST && 8 * this.#size < this.#chains.length) this.#resize(this.#chains.length / 2);
  }

  clear(): void {
    this.#chains = chains(FEWEST);
    this.#crowded.clear();
    this.#size = 0;
  }

  /** All nodes, in the order in which they were added. */
  values(): T[] {
    const nodes = [...this.#crowded.values()];
    for (let node of this.#chains) {
      for (; node !== undefined; node = node.sibling) nodes.push(node);
    }
    return nodes.sort((a, b) => a.born - b.born);
  }

  #resize(length: number): void {
    const before = this.#chains;
    const crowded = [...this.#crowded.values()];
    this.#chains = chains(length);
    this.#crowded.clear();
    for (const node of crowded) this.#link(node);
    for (let node of before) {
      while (node !== undefined) {
        const next: T | undefined = node.sibling;
        this.#link(node);
        node = next;
      }
    }
  }

  #link(node: T): void {
    const at = node.hash & (this.#chains.length - 1);
    const first = this.#chains[at];
    let length = 0;
    for (let other = first; other !== undefined; other = other.sibling) length++;
    node.sibling = undefined;
    if (length === LONGEST) {
      this.#crowded.set(node.id, node);
    } else {
      node.sibling = first;
      this.#chains[at] = node;
    }
  }
}

function chains<T>(length: number): (T | undefined)[] {
  return new Array<T | undefined>(length).fill(undefined);
}
