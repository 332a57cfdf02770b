/** What a {@link Heap} orders: by `due`, and at the same time by `order`. The index is the heap's. */
export interface HeapNode {
  due: number;
  order: number;
  index: number;
}

/** A binary heap whose nodes know where they are, so that one can be taken out of its middle: n log n, not n², in all. */
export class Heap<T extends HeapNode> {
  readonly #nodes: T[] = [];

  get size(): number {
    return this.#nodes.length;
  }

  peek(): T | undefined {
    return this.#nodes[0];
  }

  push(node: T): void {
    this.#up(this.#nodes.length, node);
  }

  /** `node` is in this heap, and comes later than it did. */
  sink(node: T): void {
    this.#down(node.index, node);
  }

  /** `node` must be in this heap. */
  remove(node: T): void {
    const { index } = node;
    node.index = -1;
    const last = this.#nodes.pop() as T;
    if (last === node) return;
    const parent = this.#nodes[(index - 1) >> 1];
    if (index > 0 && parent !== undefined && isBefore(last, parent)) this.#up(index, last);
    else this.#down(index, last);
  }

  /** `node` goes to `index` or, past all that come after it, nearer to the root. */
  #up(index: number, node: T): void {
    let hole = index;
    while (hole > 0) {
      const above = (hole - 1) >> 1;
      const parent = this.#nodes[above] as T;
      if (!isBefore(node, parent)) break;
      this.#put(hole, parent);
      hole = above;
    }
    this.#put(hole, node);
  }

  #down(index: number, node: T): void {
    let hole = index;
    for (;;) {
      let below = 2 * hole + 1;
      const right = this.#nodes[below + 1];
      if (right !== undefined && isBefore(right, this.#nodes[below] as T)) below++;
      const child = this.#nodes[below];
      if (child === undefined || !isBefore(child, node)) break;
      this.#put(hole, child);
      hole = below;
    }
    this.#put(hole, node);
  }

  #put(index: number, node: T): void {
    this.#nodes[index] = node;
    node.index = index;
  }
}

/** Whether `a` comes before `b`. */
export function isBefore(a: HeapNode, b: HeapNode): boolean {
  return a.due < b.due || (a.due === b.due && a.order < b.order);
}
