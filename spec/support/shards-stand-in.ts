import { Observable, type Subscriber } from 'rxjs';
import { type Holding, shardOf, type Shards } from 'kreconciler';
import { Holdings } from '../../lib/shards/holdings.js';

const WORDS = ['apple', 'pear', 'plum', 'quince', 'cherry', 'fig', 'grape', 'lemon', 'lime', 'mango', 'melon', 'olive', 'peach'];

/** The ids of a shard, as many as are wanted. */
export function idsIn(shard: number, count: number, many = 1): string[] {
  const ids: string[] = [];
  for (let round = 0; ids.length < many; round++) {
    for (const word of WORDS) {
      const id = round === 0 ? word : `${word} ${round}`;
      if (shardOf(id, count) === shard && ids.length < many) ids.push(id);
    }
  }
  return ids;
}

/** An engine in memory that gives, asks for and loses what a test says, and keeps a log of who frees what. */
export class ShardsStandIn {
  /** `join a`, `leave a`, `free a 0`, in their order. */
  readonly log: string[] = [];
  /** Who is to have a shard once it is free. */
  readonly heirs = new Map<number, StandInMember>();
  readonly #owners = new Map<number, StandInMember>();
  readonly #terms = new Map<number, number>();
  #term = 0;

  constructor(readonly count: number) {}

  member(name = 'a'): StandInMember {
    return new StandInMember(this, name);
  }

  own(shard: number, member: StandInMember): number {
    const owner = this.#owners.get(shard);
    if (owner !== undefined) throw new Error(`Shard ${shard} is held by ${owner.name}`);
    this.#owners.set(shard, member);
    this.#terms.set(shard, ++this.#term);
    return this.#term;
  }

  /** The shards that nobody holds. */
  get unowned(): number[] {
    return Array.from({ length: this.count }, (_, shard) => shard).filter((shard) => !this.#owners.has(shard));
  }

  /** The last term of a shard. */
  termOf(shard: number): number | undefined {
    return this.#terms.get(shard);
  }

  free(shard: number): void {
    this.#owners.delete(shard);
    const heir = this.heirs.get(shard);
    this.heirs.delete(shard);
    if (heir?.isMember === true) heir.grant(shard);
  }

  /** Asks the owner of `shard` for it, and gives it to `heir` as soon as it is free. */
  move(shard: number, heir: StandInMember): void {
    this.heirs.set(shard, heir);
    this.#owners.get(shard)?.revoke(shard);
  }
}

/** One process, as the engine sees it. */
export class StandInMember implements Shards {
  readonly count: number;
  readonly holdings: Observable<Holding>;
  readonly #holdings: Holdings;
  #subscriber: Subscriber<Holding> | undefined;

  constructor(
    readonly engine: ShardsStandIn,
    readonly name: string,
  ) {
    this.count = engine.count;
    this.#holdings = new Holdings(({ shard }) => {
      engine.log.push(`free ${name} ${shard}`);
      engine.free(shard);
    });
    this.holdings = new Observable((subscriber) => {
      engine.log.push(`join ${name}`);
      this.#subscriber = subscriber;
      subscriber.add(() => {
        this.#subscriber = undefined;
        engine.log.push(`leave ${name}`);
      });
    });
  }

  get isMember(): boolean {
    return this.#subscriber !== undefined;
  }

  /** The shards that are not freed yet. */
  get held(): number[] {
    return this.#holdings.running.map(({ shard }) => shard).sort((a, b) => a - b);
  }

  grant(...shards: readonly number[]): void {
    for (const shard of shards)
      this.#holdings.grant({ shard, term: this.engine.own(shard, this) }, (holding) => {
        this.#subscriber?.next(holding);
      });
  }

  revoke(shard: number): void {
    this.#holdings.revoke(shard);
  }

  /** The session has ended: whoever is to have these shards gets them at once. */
  lose(...shards: readonly number[]): void {
    for (const shard of shards) {
      this.#holdings.lose(shard);
      this.engine.free(shard);
    }
  }

  /** Emits something, whether it is a holding or not. */
  say(odd: unknown): void {
    this.#subscriber?.next(odd as Holding);
  }

  fail(error: unknown): void {
    this.#subscriber?.error(error);
  }
}
