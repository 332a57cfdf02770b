import { BehaviorSubject, EMPTY, map, merge, Observable, Subject, tap } from 'rxjs';
import { toObservable } from '../../operators/observable-input.js';
import { LaneTerm } from '../../operators/tenure.js';
import { failed } from '../describe-error.js';
import type { ShardChange } from '../observability/metrics/shard-metrics.js';
import type { Held } from './balance.js';
import { checkHolding } from './check-holding.js';
import { acquiredOf, acquisition, type Ownership } from './ownership.js';
import { shardOf } from './shard-of.js';
import type { Holding, Shards } from './shards.js';

/** The shards that a Controller owns: those that were granted, and are neither revoked nor lost. */
export class OwnedShards implements Ownership {
  readonly count: number;
  /**
   * The terms of the workers, each of which is a shard; subscribing makes this process a member. Errors as the engine does. A term
   * frees its shard when it is let go of, and outlives the membership.
   */
  readonly terms: Observable<LaneTerm>;
  /** Whether anything is owned. */
  readonly any: Observable<boolean>;
  readonly acquired: Observable<readonly number[]>;
  readonly owned: Observable<readonly number[]>;
  /** All that happens to shards, for telemetry; hot. */
  readonly changes: Observable<ShardChange>;
  readonly #owned = new Set<number>();
  /** The last term of each shard, which its last runs are in while it is let go of. */
  readonly #terms = new Map<number, number>();
  /** By which grant a shard is held. One that is granted anew is not freed by the end of the grant before, not even in the same term. */
  readonly #grants = new Map<number, object>();
  readonly #says = new BehaviorSubject<readonly number[]>([]);
  readonly #acquired = new Subject<readonly number[]>();
  readonly #changes = new Subject<ShardChange>();

  constructor({ count, holdings, unowned = EMPTY }: Shards) {
    this.count = count;
    this.changes = merge(this.#changes, unowned.pipe(map((shards) => ({ kind: 'unowned', count: shards }) as const)));
    this.owned = this.#says;
    this.any = this.owned.pipe(map(({ length }) => length > 0));
    this.acquired = acquiredOf(this.#acquired);
    this.terms = new Observable((subscriber) => {
      let isEndless = false;
      subscriber.add(() => {
        // As the membership ends all of them begin to go.
        if (!isEndless) for (const shard of this.#owned) this.#changes.next({ kind: 'revoked', shard });
      });
      const checked = tap<Holding>((holding) => {
        checkHolding(holding, this.count);
      });
      return toObservable(holdings)
        .pipe(checked)
        .subscribe({
          next: (holding) => {
            this.#grant(holding, (term) => {
              subscriber.next(term);
            });
          },
          error: (error: unknown) => {
            subscriber.error(failed('The source of shards', error));
          },
          complete: () => {
            isEndless = true;
            subscriber.complete();
          },
        });
    });
  }

  /** In the order of their numbers. */
  get held(): readonly Held[] {
    return [...this.#owned].sort((a, b) => a - b).map((shard) => ({ shard, term: this.#terms.get(shard) as number }));
  }

  /** The term in which runs of a shard are, or were last. */
  termOf(shard: number): number | undefined {
    return this.#terms.get(shard);
  }

  readonly owns = (id: string): boolean => this.#owned.has(this.#shardOf(id));

  readonly #shardOf = (id: string): number => shardOf(id, this.count);

  #grant(holding: Holding, begin: (term: LaneTerm) => void): void {
    const { shard, term } = holding;
    const grant = {};
    const held = (): boolean => this.#grants.get(shard) === grant;
    const owned = (): boolean => this.#owned.has(shard) && held();
    const end = (): void => {
      if (!owned()) return;
      this.#owned.delete(shard);
      this.#tell();
    };
    let isTaken = false;
    const until = new Observable<'revoked'>((subscriber) => {
      isTaken = true;
      let how: 'freed' | 'lost' = 'freed';
      const lose = (): void => {
        how = 'lost';
      };
      subscriber.add(() => {
        end();
        if (!held()) return;
        this.#grants.delete(shard);
        this.#changes.next({ kind: how, shard });
      });
      const revoke = (): void => {
        this.#changes.next({ kind: 'revoked', shard });
      };
      return holding.pipe(tap({ next: revoke, error: lose, complete: lose })).subscribe(subscriber);
    });
    if (this.#grants.has(shard)) this.#changes.next({ kind: 'lost', shard });
    this.#grants.set(shard, grant);
    this.#owned.add(shard);
    this.#terms.set(shard, term);
    this.#changes.next({ kind: 'acquired', shard });
    // First of all it is owned no more: streams are let go of by then, and nothing comes in once all is dropped.
    begin(new LaneTerm(shard, until, end));
    // eslint-disable-next-line @typescript-eslint/no-unnecessary-condition -- it is taken in that call
    if (!isTaken) {
      end();
      this.#grants.delete(shard);
    }
    if (!owned()) return;
    const shards = acquisition([shard], this.#shardOf);
    this.#tell();
    if (owned()) this.#acquired.next(shards);
  }

  #tell(): void {
    this.#says.next([...this.#owned]);
  }
}
