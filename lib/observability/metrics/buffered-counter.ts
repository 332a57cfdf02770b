import type { Attributes, AttributeValue, Counter } from '@opentelemetry/api';

/**
 * What a counter has to be increased by, for each value of the attribute `key` if there is one. An SDK hashes the attributes
 * at each `add`, which costs more than a run; so the steps are counted here, and added once a collection and at the end.
 */
export class BufferedCounter {
  readonly #counts = new Map<AttributeValue, number>();

  constructor(
    readonly counter: Counter,
    readonly attributes: Attributes,
    readonly key?: string,
  ) {}

  up(value: AttributeValue = ''): void {
    this.#counts.set(value, (this.#counts.get(value) ?? 0) + 1);
  }

  flush(): void {
    for (const [value, count] of this.#counts) {
      this.counter.add(count, this.key === undefined ? this.attributes : { ...this.attributes, [this.key]: value });
    }
    this.#counts.clear();
  }
}
