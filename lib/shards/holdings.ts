import { Observable, ReplaySubject } from 'rxjs';
import type { Held } from './balance.js';
import type { Holding } from './shards.js';

/**
 * The shards that run here: those that were granted, are subscribed to, and are not lost. Whatever an engine may show, this is
 * what counts.
 */
export class Holdings {
  readonly #running = new Map<number, Running>();
  readonly #free: (held: Held) => void;

  /** `free` is called with each one that is let go of: here, once no run of it is left. */
  constructor(free: (held: Held) => void) {
    this.#free = free;
  }

  get size(): number {
    return this.#running.size;
  }

  /** All of them. */
  get running(): readonly Held[] {
    return [...this.#running.values()];
  }

  /** Those that nobody has asked to go. */
  get staying(): readonly Held[] {
    return [...this.#running.values()].filter(({ isRevoked }) => !isRevoked);
  }

  has({ shard, term }: Held): boolean {
    return this.#running.get(shard)?.term === term;
  }

  /** Hands a shard over by `emit`. One that is not subscribed to in that call is let go of. */
  grant({ shard, term }: Held, emit: (holding: Holding) => void): void {
    const running = new Running(shard, term);
    this.#running.set(shard, running);
    const end = (): void => {
      if (!this.has(running)) return;
      this.lose(shard);
      this.#free(running);
    };
    const holding = new Observable<'revoked'>((subscriber) => {
      running.isClaimed = true;
      subscriber.add(running.said.subscribe(subscriber));
      subscriber.add(end);
    });
    emit(Object.assign(holding, { shard, term }));
    if (!running.isClaimed) end();
  }

  /** Asks for a shard: what runs may finish. */
  revoke(shard: number): void {
    this.#running.get(shard)?.revoke();
  }

  /** Says that a shard is lost: what runs must abort at once. There is nothing to be let go of any more. */
  lose(shard: number): void {
    const running = this.#running.get(shard);
    this.#running.delete(shard);
    running?.end();
  }

  /** Loses those that an engine does not show any more. */
  loseAllBut(held: readonly Held[]): void {
    const terms = new Map(held.map(({ shard, term }) => [shard, term]));
    for (const { shard, term } of [...this.#running.values()]) if (terms.get(shard) !== term) this.lose(shard);
  }
}

/** One that was granted, and what it hears. */
class Running implements Held {
  readonly #says = new ReplaySubject<'revoked'>(1);
  isRevoked = false;
  isClaimed = false;

  constructor(
    readonly shard: number,
    readonly term: number,
  ) {}

  get said(): Observable<'revoked'> {
    return this.#says;
  }

  revoke(): void {
    if (this.isRevoked) return;
    this.isRevoked = true;
    this.#says.next('revoked');
  }

  end(): void {
    this.#says.complete();
  }
}
