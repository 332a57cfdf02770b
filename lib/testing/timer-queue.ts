import { Heap, type HeapNode, isBefore } from '../../operators/heap.js';

/**
 * Nodes in the order of `due` and `order`. Those that come in that order need no heap, and in a simulation nearly all do:
 * they are due at once. A node's index is at least 0 in the heap, below -1 in the line beside it, and -1 in neither.
 */
export class TimerQueue<T extends HeapNode> {
  readonly #heap = new Heap<T>();
  /** In order; what was removed leaves a hole. It keeps its store, as it is emptied again and again. */
  readonly #line: (T | undefined)[] = [];
  #first = 0;
  #end = 0;
  #inLine = 0;

  get size(): number {
    return this.#heap.size + this.#inLine;
  }

  peek(): T | undefined {
    const queued = this.#peekLine();
    const next = this.#heap.peek();
    return queued === undefined || (next !== undefined && isBefore(next, queued)) ? next : queued;
  }

  push(node: T): void {
    this.#heap.push(node);
  }

  /** `node` must come after all that were appended before. */
  append(node: T): void {
    node.index = -2 - this.#end;
    this.#line[this.#end++] = node;
    this.#inLine++;
  }

  pop(): T | undefined {
    const first = this.peek();
    if (first !== undefined) this.remove(first);
    return first;
  }

  /** `node` must be in this queue. */
  remove(node: T): void {
    if (node.index >= 0) {
      this.#heap.remove(node);
      return;
    }
    this.#line[-2 - node.index] = undefined;
    node.index = -1;
    if (--this.#inLine === 0) this.#first = this.#end = 0;
  }

  #peekLine(): T | undefined {
    if (this.#inLine === 0) return undefined;
    while (this.#line[this.#first] === undefined) this.#first++;
    return this.#line[this.#first];
  }
}
