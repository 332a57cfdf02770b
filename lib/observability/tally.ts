import type { Attributes, Counter } from '@opentelemetry/api';

/**
 * What a counter has to be increased by. An SDK hashes the attributes at each `add`, which costs more than a run; so the
 * steps are counted here, and added once a collection and at the end.
 */
export class Tally {
  #count = 0;

  constructor(
    readonly counter: Counter,
    readonly attributes: Attributes,
  ) {}

  up(): void {
    this.#count++;
  }

  flush(): void {
    if (this.#count === 0) return;
    this.counter.add(this.#count, this.attributes);
    this.#count = 0;
  }
}
