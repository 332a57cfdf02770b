import { Fifo } from './fifo.js';

/** Who wants a place to run an id in: a worker. */
export interface Candidate {
  /** It ends: no place is of use to it. */
  readonly isClosed: boolean;
  /** A place is reserved for it. */
  granted(): void;
}

/**
 * The places of a loop whose workers may run `limit` ids together. Where all are taken, workers stand in one line, each of them once, in
 * the order in which they asked (W2). A place that becomes free goes to the first in the line, so whoever has run gives way to those who wait.
 */
export class Places {
  readonly #line = new Fifo<Candidate>();
  readonly #standing = new Set<Candidate>();
  #taken = 0;

  constructor(readonly limit: number) {}

  /** Takes a place; or else `candidate` stands in the line from now on. */
  take(candidate: Candidate): boolean {
    if (this.#taken < this.limit) {
      this.#taken++;
      return true;
    }
    if (!this.#standing.has(candidate)) {
      this.#standing.add(candidate);
      this.#line.push(candidate);
    }
    return false;
  }

  isStanding(candidate: Candidate): boolean {
    return this.#standing.has(candidate);
  }

  /** A place is free again, and goes to the first in the line. */
  free(): void {
    for (let next = this.#line.shift(); next !== undefined; next = this.#line.shift()) {
      this.#standing.delete(next);
      if (next.isClosed) continue;
      next.granted();
      return;
    }
    this.#taken--;
  }
}
