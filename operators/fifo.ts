/** How many places at the front of the array may be empty, unless as many are taken. */
const SPARE = 64;

/** A FIFO that is emptied again and again, and holds one item for the most part: that one is at hand, and only others need an array. */
export class Fifo<T> {
  /** `undefined` if it is empty. */
  #first: T | undefined;
  /** Kept: an array that is cut to `length = 0` frees its store, and allocating that anew costs more than all else that is done here. */
  readonly #others: (T | undefined)[] = [];
  #next = 0;
  #end = 0;

  get isEmpty(): boolean {
    return this.#first === undefined;
  }

  push(item: T): void {
    if (this.#first === undefined) this.#first = item;
    else this.#others[this.#end++] = item;
  }

  shift(): T | undefined {
    const first = this.#first;
    this.#first = this.#next === this.#end ? undefined : this.#second();
    return first;
  }

  #second(): T | undefined {
    const second = this.#others[this.#next];
    // It must not be kept alive from here.
    this.#others[this.#next++] = undefined;
    // One that is never empty must not grow.
    if (this.#next === this.#end) this.#next = this.#end = 0;
    else if (this.#next >= SPARE && 2 * this.#next >= this.#end) {
      this.#others.splice(0, this.#next);
      this.#end -= this.#next;
      this.#next = 0;
    }
    return second;
  }
}
