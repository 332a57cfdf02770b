import type { Subscription } from 'rxjs';
import type { Shards } from '../../lib/shards/shards.js';

/** A time in which a replica ran a shard. */
export interface Run {
  readonly replica: string;
  readonly shard: number;
  readonly term: number;
  readonly from: number;
  to: number | undefined;
}

export interface ReplicaConfig {
  readonly name: string;
  readonly now: () => number;
  /** How what runs when a shard is to go comes to its end: by default at once. */
  readonly finish?: (done: () => void) => void;
  /** Where its runs are recorded, and perhaps those of others. */
  readonly runs?: Run[];
}

/** A process that does with its holdings what a Controller does, and whose runs are only recorded. */
export class ShardsReplica {
  readonly holdings = new Map<number, { readonly run: Run; readonly subscription: Subscription }>();
  readonly runs: Run[];
  /** What `holdings` errored with. */
  error: unknown;
  readonly #config: ReplicaConfig;
  readonly #member: Subscription;
  #isStopped = false;

  constructor(shards: Shards, config: ReplicaConfig) {
    this.#config = config;
    this.runs = config.runs ?? [];
    this.#member = shards.holdings.subscribe({
      next: (holding) => {
        const { shard, term } = holding;
        const run: Run = { replica: config.name, shard, term, from: config.now(), to: undefined };
        this.runs.push(run);
        // eslint-disable-next-line rxjs-x/no-nested-subscribe -- a holding outlives the subscription to all of them
        const subscription = holding.subscribe({
          next: () => this.#finish(shard, run),
          complete: () => this.#ended(shard, run),
        });
        this.holdings.set(shard, { run, subscription });
      },
      error: (error: unknown) => {
        this.error = error;
      },
    });
  }

  /** The shards that run, in order. */
  get shards(): number[] {
    return [...this.holdings.keys()].sort((a, b) => a - b);
  }

  get size(): number {
    return this.holdings.size;
  }

  /** Ends the membership first, and lets each shard go when its runs have ended. */
  stop(): void {
    if (this.#isStopped) return;
    this.#isStopped = true;
    this.#member.unsubscribe();
    for (const [shard, { run }] of this.holdings) this.#finish(shard, run);
  }

  #finish(shard: number, run: Run): void {
    const finish = this.#config.finish ?? ((done: () => void) => done());
    finish(() => {
      const held = this.holdings.get(shard);
      if (held?.run !== run) return;
      this.#ended(shard, run);
      held.subscription.unsubscribe();
    });
  }

  #ended(shard: number, run: Run): void {
    run.to = this.#config.now();
    if (this.holdings.get(shard)?.run === run) this.holdings.delete(shard);
  }
}

/** Runs of one shard that overlap, and terms that do not grow: there must be none (H1). */
export function faultsOf(runs: readonly Run[]): string[] {
  const faults: string[] = [];
  const last = new Map<number, Run>();
  for (const run of [...runs].sort((a, b) => a.from - b.from || a.term - b.term)) {
    const before = last.get(run.shard);
    if (before !== undefined && (before.to === undefined || before.to > run.from)) {
      faults.push(`shard ${run.shard}: ${before.replica} until ${before.to}, ${run.replica} from ${run.from}`);
    }
    if (before !== undefined && before.term >= run.term) faults.push(`shard ${run.shard}: term ${run.term} after ${before.term}`);
    last.set(run.shard, run);
  }
  return faults;
}
