/**
 * A FIFO that is emptied again and again. It keeps its array: one that is cut to `length = 0` frees its store, and to
 * allocate that anew for each step costs more than all else that is done to the step here.
 */
export class Fifo<T> {
  readonly #items: (T | undefined)[] = [];
  #next = 0;
  #end = 0;

  push(item: T): void {
    this.#items[this.#end++] = item;
  }

  shift(): T | undefined {
    if (this.#next === this.#end) {
      this.#next = this.#end = 0;
      return undefined;
    }
    const item = this.#items[this.#next];
    // It must not be kept alive from here.
    this.#items[this.#next++] = undefined;
    return item;
  }
}
