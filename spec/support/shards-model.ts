import { balance, type Member } from '../../lib/shards/balance.js';
import { VirtualScheduler } from '../../lib/testing/virtual-scheduler.js';

export const times = { retry: 1_000, settle: 5_000, grace: 3_000, ttl: 8_000 };

/** A shard went from one member to another. */
export interface Move {
  readonly shard: number;
  readonly from: string | undefined;
  readonly to: string;
}

/**
 * An engine and its members in virtual time, in which views are late, notifications are lost, and members look whenever they
 * look. Only {@link balance} is the real one.
 */
export class ShardsModel {
  readonly moves: Move[] = [];
  /** Who holds a shard. */
  readonly owners: (string | undefined)[];
  readonly #lastOwners: (string | undefined)[];
  /** Those that the engine shows as members. */
  readonly members = new Set<string>();
  readonly #processes = new Map<string, Process>();
  readonly #clock = new VirtualScheduler();
  #revision = 0;
  #sessions = 0;

  constructor(
    readonly count: number,
    readonly random: () => number,
    readonly balanced: typeof balance = balance,
  ) {
    this.owners = Array.from({ length: count }, () => undefined);
    this.#lastOwners = [...this.owners];
  }

  join(): string {
    const session = `${Math.floor(this.random() * 1_000)}-${this.#sessions++}`;
    this.members.add(session);
    const process = new Process(session, this, this.#clock);
    this.#processes.set(session, process);
    this.notify();
    return session;
  }

  /** Ends its membership, and frees each shard when its runs have ended. */
  leave(session: string): void {
    const process = this.#processes.get(session)!;
    process.isStopped = true;
    this.#processes.delete(session);
    this.members.delete(session);
    this.notify();
    for (const shard of process.holdings.keys()) this.#clock.after(this.random() * times.grace, () => this.free(session, shard));
  }

  /** Dies, and the engine notices later. */
  crash(session: string): void {
    this.#processes.get(session)!.isStopped = true;
    this.#processes.delete(session);
    this.#clock.after(times.ttl, () => {
      this.members.delete(session);
      for (const [shard, owner] of this.owners.entries()) if (owner === session) this.owners[shard] = undefined;
      this.notify();
    });
  }

  /** A term, or undefined if somebody else was faster. */
  take(session: string, shard: number): number | undefined {
    if (this.owners[shard] !== undefined) return undefined;
    this.moves.push({ shard, from: this.#lastOwners[shard], to: session });
    this.owners[shard] = this.#lastOwners[shard] = session;
    return this.#revision;
  }

  free(session: string, shard: number): void {
    if (this.owners[shard] !== session) return;
    this.owners[shard] = undefined;
    this.notify();
  }

  /** Each hears of it a bit later, or not at all. */
  notify(): void {
    for (const process of this.#processes.values()) {
      if (this.random() < 0.8) this.#clock.after(this.random() * 30, () => process.look());
    }
  }

  nextRevision(): void {
    this.#revision++;
  }

  pass(ms: number): void {
    const end = this.#clock.elapsed + ms;
    while (this.#clock.next <= end) this.#clock.runNext();
    this.#clock.passTo(end);
  }

  /** Long enough for H4, after what the engine notices late. */
  quiet(): void {
    this.pass(times.ttl + times.settle + times.grace + 2 * times.retry);
  }

  /** How many shards each member holds. */
  sizes(): number[] {
    return [...this.members].map((session) => this.owners.filter((owner) => owner === session).length);
  }
}

class Process {
  isStopped = false;
  readonly holdings = new Map<number, { readonly term: number; isRevoked: boolean }>();
  readonly #settled = new Map<string, boolean>();
  #isLooking = false;
  #isDirty = false;
  #mayTake = false;

  constructor(
    readonly session: string,
    readonly model: ShardsModel,
    readonly clock: VirtualScheduler,
  ) {
    clock.after(times.retry, () => {
      this.#mayTake = true;
    });
    this.#poll();
  }

  look(): void {
    this.#isDirty = true;
    if (this.#isLooking) return;
    this.#isDirty = false;
    this.#isLooking = true;
    const { model, clock } = this;
    const owners = [...model.owners];
    const others = [...model.members].filter((session) => session !== this.session);
    // The view is of now; what is done about it is done later, when the world may have changed.
    clock.after(model.random() * 50, () => {
      this.#isLooking = false;
      if (this.isStopped) return;
      const hasTaken = this.#act(
        owners,
        others.map((session) => this.#member(session, owners)),
      );
      if (hasTaken || this.#isDirty) this.look();
    });
  }

  #act(owners: readonly (string | undefined)[], others: readonly Member[]): boolean {
    const { model } = this;
    const { take, release } = model.balanced({
      count: model.count,
      session: this.session,
      others,
      free: this.#mayTake ? owners.flatMap((owner, shard) => (owner === undefined ? [shard] : [])) : [],
      holdings: [...this.holdings].flatMap(([shard, { term, isRevoked }]) => (isRevoked ? [] : [{ shard, term }])),
    });
    model.nextRevision();
    let hasTaken = false;
    for (const shard of take) {
      const term = model.take(this.session, shard);
      if (term === undefined) continue;
      hasTaken = true;
      this.holdings.set(shard, { term, isRevoked: false });
    }
    for (const shard of release) {
      this.holdings.get(shard)!.isRevoked = true;
      this.clock.after(model.random() * times.grace, () => {
        if (this.isStopped) return;
        this.holdings.delete(shard);
        model.free(this.session, shard);
      });
    }
    return hasTaken;
  }

  #member(session: string, owners: readonly (string | undefined)[]): Member {
    if (!this.#settled.has(session)) {
      this.#settled.set(session, false);
      this.clock.after(times.settle, () => {
        this.#settled.set(session, true);
        if (!this.isStopped) this.look();
      });
    }
    return { session, held: owners.filter((owner) => owner === session).length, settled: this.#settled.get(session)! };
  }

  #poll(): void {
    if (this.isStopped) return;
    this.look();
    this.clock.after(times.retry * (0.8 + 0.4 * this.model.random()), () => this.#poll());
  }
}
