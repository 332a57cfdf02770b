import type { Attributes } from '@opentelemetry/api';
import { BufferedCounter } from './buffered-counter.js';
import type { Observe } from './gauges.js';
import type { LoopInstruments } from './instruments.js';

/**
 * What happens to the shards of a process: one is `acquired`; it is `revoked`, which is when it begins to let go of it, and `freed`, or
 * it is `lost`. `unowned`: how many of all shards nobody holds, as it last saw.
 */
export type ShardChange =
  | { readonly kind: 'acquired' | 'revoked' | 'freed' | 'lost'; readonly shard: number }
  | { readonly kind: 'unowned'; readonly count: number };

/** What is measured of the shards of one loop. */
export class ShardMetrics {
  readonly #owned = new Set<number>();
  /** Since when shards are being let go of. */
  readonly #leaving = new Map<number, number>();
  /** Unknown until the engine has been seen. */
  #unowned: number | undefined;
  readonly #moves: BufferedCounter;

  constructor(
    readonly instruments: LoopInstruments,
    readonly attributes: Attributes,
  ) {
    this.#moves = new BufferedCounter(instruments.shardMove, attributes, 'move');
  }

  follow(change: ShardChange, at: number): void {
    if (change.kind === 'unowned') {
      this.#unowned = change.count;
      return;
    }
    const { kind, shard } = change;
    if (kind === 'revoked') {
      this.#owned.delete(shard);
      this.#leaving.set(shard, at);
      return;
    }
    this.#moves.up(kind);
    const since = this.#leaving.get(shard);
    if (kind === 'freed' && since !== undefined) this.instruments.shardHandOverMillis.record(Math.max(at - since, 0), this.attributes);
    this.#leaving.delete(shard);
    if (kind === 'acquired') this.#owned.add(shard);
    else this.#owned.delete(shard);
  }

  report(observe: Observe): void {
    const { shardsOwned, shardsUnowned } = this.instruments.gauges;
    observe(shardsOwned, this.#owned.size, this.attributes);
    if (this.#unowned !== undefined) observe(shardsUnowned, this.#unowned, this.attributes);
  }

  flush(): void {
    this.#moves.flush();
  }
}
