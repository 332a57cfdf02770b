import { Subject, tap } from 'rxjs';
import { constant, Controller, type ControllerContext, type Holding, noopLogger, observability, resync, shardOf } from 'kreconciler';
import { shards } from 'kreconciler/etcd';
import type { Random } from 'kreconciler/testing';
import { integer, oneOf, randomFrom, span } from '../../lib/testing/simulation/random.js';
import { VirtualScheduler } from '../../lib/testing/virtual-scheduler.js';
import { EtcdStandIn } from '../support/etcd-stand-in.js';
import { SimulatedNetwork } from './simulated-network.js';
import { SimulatedProcess } from './simulated-process.js';

const quiet = observability({ logger: noopLogger });
const times = { ttl: 4_000, retry: 1_000, settle: 2_000 };
const GRACE = 500;
/** What it takes to connect and join again. */
const JOIN = 1_000;
/** H3, after a session that may have to be made anew first. */
const OWNED = times.ttl + 1_000 + 1.2 * times.retry + JOIN + 1.2 * times.retry;
/** H4, from there. */
const EVEN = times.settle + GRACE + 2 * 1.2 * times.retry + JOIN;
const WORDS = ['apple', 'pear', 'plum', 'quince', 'cherry', 'fig', 'grape', 'lemon', 'lime', 'mango', 'melon', 'olive'];

/** A run, for as long as its signal lets it act. */
interface Run {
  readonly id: string;
  readonly shard: number;
  readonly replica: Replica;
}

/** One process: a Controller, by the real adapter for etcd. */
class Replica {
  readonly process: SimulatedProcess;
  readonly network: SimulatedNetwork;
  readonly controller: Controller;
  readonly stop = new AbortController();
  readonly since: number;
  readonly #changes = new Subject<string>();
  /** What `run` has rejected with, if it has. */
  readonly ended: Promise<unknown>;
  /** Until then it may not know that its session is over. */
  unawareUntil = -1;

  constructor(
    readonly world: ShardsWorld,
    readonly name: string,
    count: number,
  ) {
    const { clock, random, etcd } = world;
    this.since = clock.elapsed;
    const scheduler = (this.process = new SimulatedProcess(clock));
    this.network = new SimulatedNetwork(clock, etcd, scheduler, random);
    const common = { scheduler, observability: quiet };
    const source = shards({
      url: 'http://etcd',
      name: 'shared',
      count,
      fetch: this.network.fetch,
      backoff: constant(250),
      ...times,
      ...common,
    });
    const granted = tap((holding: Holding) => {
      world.granted(this, holding);
    });
    this.controller = new Controller(
      {
        shards: { count, holdings: source.holdings.pipe(granted) },
        workerConcurrency: integer(random, 1, 3),
        backoff: constant(100),
        delayResolution: 50,
        maxItemRetries: Infinity,
        shutdownGrace: GRACE,
        ...common,
      },
      (id, context) => world.run(this, id, context),
      {
        changes: this.#changes,
        // Its period falls into no life: what a move interrupts, only the list for what has come can mend.
        acquired: (_, { acquired }) => resync({ every: 3_600_000, list: () => this.#list(), relistOn: acquired, ...common }),
      },
    );
    this.ended = this.controller.run(this.stop.signal).then(
      () => undefined,
      (error: unknown) => error,
    );
  }

  get owned(): ReadonlyMap<number, number> {
    return new Map(this.controller.inspect().shards?.owned.map(({ shard, term }) => [shard, term]));
  }

  /** Hears of a change, if it hears anything. */
  hear(id: string): void {
    this.process.do(() => {
      this.#changes.next(id);
    });
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.process.schedule(() => {
        resolve();
      }, ms);
    });
  }

  async #list(): Promise<readonly string[]> {
    const { random } = this.world;
    await this.sleep(span(random, 200));
    const ids = this.world.drifted;
    await this.sleep(span(random, 200));
    return ids;
  }
}

/**
 * Replicas that share ids by shards, an etcd that is a stand-in, and a store that has fences. Everything else is real: Controllers, and the
 * adapter for etcd. All time is virtual, and all chance is of one seed.
 */
class ShardsWorld {
  readonly clock = new VirtualScheduler();
  readonly random: Random;
  readonly etcd: EtcdStandIn;
  /** Those that live, and are not asked to stop. */
  readonly replicas: Replica[] = [];
  /** Which laws were broken, and how. */
  readonly broken: string[] = [];
  readonly count: number;
  readonly #desired = new Map<string, number>(WORDS.map((id) => [id, 1]));
  readonly #actual = new Map<string, number>();
  /** The highest term that the store has seen of a shard. */
  readonly #fences = new Map<number, number>();
  readonly #terms = new Map<number, number>();
  readonly #running = new Set<Run>();
  readonly #all: Replica[] = [];

  constructor(seed: number) {
    this.random = randomFrom(seed);
    this.etcd = new EtcdStandIn(this.clock);
    this.count = integer(this.random, 1, 8);
  }

  get drifted(): string[] {
    return [...this.#desired].filter(([id, value]) => this.#actual.get(id) !== value).map(([id]) => id);
  }

  start(): void {
    const replica = new Replica(this, `r${this.#all.length}`, this.count);
    this.#all.push(replica);
    this.replicas.push(replica);
  }

  granted(replica: Replica, { shard, term }: Holding): void {
    if (this.clock.elapsed < replica.since + times.retry * 0.8) this.#break(`H2: ${replica.name} holds shard ${shard} in its first retry`);
    const last = this.#terms.get(shard) ?? -1;
    // An answer may come late to who has lost its session meanwhile, and does not know it.
    if (term <= last && !this.#isExcused(replica)) this.#break(`H1: term ${term} of shard ${shard} follows ${last}`);
    this.#terms.set(shard, Math.max(term, last));
  }

  async run(replica: Replica, id: string, { shard = -1, term = -1, signal }: ControllerContext): Promise<void> {
    if (shard !== shardOf(id, this.count)) this.#break(`H1: ${id} runs in shard ${shard}`);
    const run = { id, shard, replica };
    for (const other of this.#running) {
      if (other.id === id && other.replica === replica) this.#break(`S1: ${id} runs twice in ${replica.name}`);
      if (other.shard === shard && other.replica !== replica && !this.#isExcused(replica) && !this.#isExcused(other.replica)) {
        this.#break(`H1: ${other.replica.name} and ${replica.name} run shard ${shard}`);
      }
    }
    this.#running.add(run);
    const end = () => this.#running.delete(run);
    signal.addEventListener('abort', end);
    try {
      // By what it reads, it makes itself known: who has an older term is refused from now on, at the end of its run.
      this.#fences.set(shard, Math.max(term, this.#fences.get(shard) ?? 0));
      const value = this.#desired.get(id) ?? 0;
      // Deaf to its signal, as most reconcilers are.
      await replica.sleep(span(this.random, 300));
      if (this.random() < 0.1) throw new Error('by chance');
      const seen = this.#fences.get(shard) ?? 0;
      if (term < seen) throw new Error(`Shard ${shard} is in term ${seen}, and not in ${term}`);
      this.#actual.set(id, value);
    } finally {
      end();
    }
  }

  /** Changes of the world, and perhaps something that goes wrong. */
  happen(): void {
    for (let i = 0; i < 4; i++) {
      this.clock.after(integer(this.random, 0, 2_000), () => {
        this.change();
      });
    }
    const replica = oneOf(this.random, this.replicas);
    const { process, network } = replica;
    const later = (work: () => void): void => void this.clock.after(integer(this.random, 100, 10_000), work);
    switch (integer(this.random, 0, 12)) {
      case 0:
        if (this.replicas.length < 5) this.start();
        return;
      case 1:
        if (this.replicas.length > 1) this.stop(replica);
        return;
      case 2:
        if (this.replicas.length === 1) return;
        process.die();
        this.#gone(replica);
        return;
      case 3:
        process.freeze();
        later(() => {
          process.wake();
        });
        return;
      case 4:
        network.isHung = true;
        later(() => {
          network.isHung = false;
        });
        return;
      case 5:
        this.etcd.isSilent = true;
        later(() => {
          this.etcd.isSilent = false;
        });
        return;
      case 6:
        network.latency = integer(this.random, 50, 700);
        later(() => {
          network.latency = 5;
        });
        return;
      case 7:
        network.forgets = this.random();
        later(() => {
          network.forgets = 0;
        });
        return;
      case 8:
        this.#endSession();
        return;
      default:
    }
  }

  /** There is a new id, or an old one is to be otherwise. All processes hear of it that hear anything, once. */
  change(): void {
    const id = this.random() < 0.5 ? oneOf(this.random, WORDS) : `${oneOf(this.random, WORDS)} ${this.#desired.size}`;
    this.#desired.set(id, (this.#desired.get(id) ?? 0) + 1);
    for (const replica of this.#all) replica.hear(id);
  }

  stop(replica: Replica): void {
    this.#gone(replica);
    replica.process.do(() => {
      replica.stop.abort();
    });
  }

  /** From now on nothing goes wrong. */
  heal(): void {
    this.etcd.isSilent = false;
    for (const { process, network } of this.#all) {
      process.wake();
      Object.assign(network, { isHung: false, latency: 5, forgets: 0 });
    }
  }

  /** Lets time pass, with all that happens in it, and all promises that settle by it. */
  async pass(ms: number): Promise<void> {
    const end = this.clock.elapsed + ms;
    while (this.clock.next <= end) {
      this.clock.runNext();
      await new Promise(setImmediate);
    }
    this.clock.passTo(end);
  }

  /** All is owned, and evenly, and as it is wanted, unless it says otherwise. */
  expectRest(when: string): void {
    const sizes = this.replicas.map(({ owned }) => owned.size);
    const shown = Object.keys(this.etcd.list('kreconciler/shards/shared/owners/')).length;
    if (shown !== this.count || sizes.reduce((sum, size) => sum + size, 0) !== this.count)
      this.#break(`H3: ${when}, of ${this.count} shards ${shown} are held and ${sizes.join(' + ')} owned`);
    if (Math.max(...sizes) - Math.min(...sizes) > 1) this.#break(`H4: ${when}, sizes are ${sizes.join(', ')}`);
    if (this.drifted.length > 0) this.#break(`H9: ${when}, ${this.drifted.join(', ')} have not converged`);
  }

  /** A change of membership in good order: it moves nothing between those that stay. */
  async changeMembership(): Promise<void> {
    const staying = [...this.replicas];
    const [first] = staying;
    const isStop = this.random() < 0.5 && staying.length > 1;
    if (isStop) staying.shift();
    const before = new Map(staying.map((replica) => [replica, replica.owned]));
    if (isStop && first !== undefined) {
      this.stop(first);
      await this.pass(GRACE + 500);
      if (Object.keys(this.etcd.list('kreconciler/shards/shared/owners/')).length !== this.count)
        this.#break('H10: shards wait for an owner');
    } else {
      this.start();
    }
    await this.pass(EVEN + 1.2 * times.retry);
    for (const [replica, owned] of before) {
      for (const [shard, term] of replica.owned) {
        const owner = staying.find((other) => before.get(other)?.has(shard));
        if (owner !== undefined && owner !== replica) this.#break(`H4: shard ${shard} has moved between two that stay`);
        if (owner === replica && owned.get(shard) !== term) this.#break(`H7: shard ${shard} has a new term where it was`);
      }
    }
  }

  /** One that believes in another count is refused. */
  async refuseOtherCount(): Promise<void> {
    const other = new Replica(this, 'other', this.count + 1);
    await this.pass(JOIN);
    const error = (await Promise.race([other.ended, Promise.resolve()])) as Error | undefined;
    const isNamed = (count: number): boolean => error?.message.includes(` ${count}`) === true;
    if ((error?.cause as Error | undefined)?.name !== 'ShardCountError' || !isNamed(this.count) || !isNamed(this.count + 1))
      this.#break(`H8: another count was answered by ${String(error)}`);
  }

  /** Ends all that there is; nothing is left but the count. */
  async end(): Promise<void> {
    for (const replica of [...this.replicas]) this.stop(replica);
    await this.pass(GRACE + 12_000);
    for (const { ended, process, name } of this.#all) {
      if (!process.isAlive) continue;
      const error = (await Promise.race([ended, Promise.resolve(new Error('it runs'))])) as Error | undefined;
      if (error !== undefined) this.#break(`P2: ${name} has not ended well: ${error.message}`);
    }
    const left = Object.keys(this.etcd.list('kreconciler/shards/shared/'));
    if (left.join() !== 'count') this.#break(`H10: ${left.join()} are left`);
  }

  #gone(replica: Replica): void {
    this.replicas.splice(this.replicas.indexOf(replica), 1);
  }

  /** One that is frozen or dead does nothing, whatever it has in mind; only the store can refuse it when it wakes up. */
  #isExcused({ process, unawareUntil }: Replica): boolean {
    return process.isOutOfTime || unawareUntil >= this.clock.elapsed;
  }

  /** Somebody revokes a lease: who had it is told later than the others. */
  #endSession(): void {
    for (const replica of this.#all) replica.unawareUntil = this.clock.elapsed + times.ttl;
    this.etcd.endSomeLease(this.random());
  }

  #break(law: string): void {
    this.broken.push(`${law} (at ${Math.round(this.clock.elapsed)} ms)`);
  }
}

/** One life: trouble, rest, one change of membership, and the end. Returns which laws it broke. */
export async function live(seed: number): Promise<readonly string[]> {
  const world = new ShardsWorld(seed);
  // What spreads the looks of members has no seed of its own.
  const chance = Math.random;
  Math.random = world.random;
  try {
    for (let i = integer(world.random, 1, 4); i > 0; i--) world.start();
    for (let i = integer(world.random, 0, 25); i > 0; i--) {
      world.happen();
      await world.pass(span(world.random, 3_000));
    }
    // What was to end by itself has ended by then.
    await world.pass(10_000);
    world.heal();
    await world.pass(OWNED + EVEN);
    world.expectRest('after the trouble');
    await world.refuseOtherCount();
    await world.changeMembership();
    world.expectRest('after a change of membership');
    await world.end();
    return world.broken;
  } finally {
    Math.random = chance;
  }
}
