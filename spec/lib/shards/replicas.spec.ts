import { Observable, type Subscriber } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { acknowledge, Controller, type ControllerContext, noopLogger, resync, shardOf, type Trigger } from 'kreconciler';
import { integer, oneOf, randomFrom, span } from '../../../lib/testing/simulation/random.js';
import { idsIn, ShardsStandIn, type StandInMember } from '../../support/shards-stand-in.js';

const COUNT = 4;
const IDS = Array.from({ length: COUNT }, (_, shard) => idsIn(shard, COUNT, 3)).flat();
const LIVES = Number(process.env['SHARD_LIVES'] ?? 40);

interface Message {
  readonly id: string;
  readonly version: number;
}

interface Replica {
  readonly name: string;
  readonly member: StandInMember;
  readonly stop: AbortController;
  readonly run: Promise<void>;
}

/**
 * Some processes that share ids out, and a store that is to be followed. Of half of its changes each process is notified that listens just
 * then; a message tells of the others, which a broker gives to any of them until it is acked.
 */
class World {
  readonly engine = new ShardsStandIn(COUNT);
  readonly random;
  readonly replicas: Replica[] = [];
  readonly broken: string[] = [];
  readonly #wanted = new Map<string, number>(IDS.map((id) => [id, 0]));
  readonly #done = new Map<string, number>();
  readonly #consumers = new Set<Subscriber<Trigger>>();
  readonly #hearers = new Set<Subscriber<Trigger>>();
  readonly #unacked = new Set<Message>();
  /** How many runs of an id are on, and who runs a shard. */
  readonly #running = new Map<string, number>();
  readonly #runners = new Map<number, Set<string>>();
  #names = 0;

  constructor(seed: number) {
    this.random = randomFrom(seed);
  }

  /** What is not as it should be in the end. */
  get left(): string[] {
    const behind = [...this.#wanted].filter(([id, version]) => this.#done.get(id) !== version).map(([id]) => `${id} has not converged`);
    return [...behind, ...Array.from(this.#unacked, ({ id }) => `a message of ${id} is not acked`)];
  }

  start(): void {
    const name = `replica ${this.#names++}`;
    const member = this.engine.member(name);
    const all = (listeners: Set<Subscriber<Trigger>>) =>
      new Observable<Trigger>((subscriber) => {
        listeners.add(subscriber);
        return () => listeners.delete(subscriber);
      });
    const controller = new Controller(
      { shards: member, workerConcurrency: integer(this.random, 1, 3), shutdownGrace: 500, observability: { logger: noopLogger } },
      (id, context) => this.#reconcile(name, member, id, context),
      {
        messages: all(this.#consumers),
        notifications: all(this.#hearers),
        resync: (_, { acquired }) =>
          resync({ every: 60_000, relistOn: acquired, list: (signal) => this.#list(signal), observability: { logger: noopLogger } }),
      },
    );
    controller.steps
      .pipe(
        acknowledge<Message>({
          ack: (message) => {
            if ((this.#done.get(message.id) ?? -1) < message.version) this.broken.push(`H9: ${message.id} was acked before its run`);
            this.#unacked.delete(message);
          },
          nack: (message, delay) => void setTimeout(() => this.#deliver(message), delay),
          observability: { logger: noopLogger },
        }),
      )
      .subscribe();
    const stop = new AbortController();
    const run = controller.run(stop.signal).then(() => {
      if (member.held.length > 0) this.broken.push(`L5: ${name} has ended, and holds shards`);
    });
    this.replicas.push({ name, member, stop, run });
  }

  /** Something happens. */
  happen(): void {
    const replica = oneOf(this.random, this.replicas);
    const { member } = replica;
    const what = integer(this.random, 0, 9);
    if (what < 5) this.change(oneOf(this.random, IDS));
    else if (what === 5) this.grantFree();
    else if (what === 6 && member.held.length > 0)
      this.engine.move(oneOf(this.random, member.held), oneOf(this.random, this.replicas).member);
    else if (what === 7) member.lose(...member.held.filter(() => this.random() < 0.7));
    else if (what === 8 && this.replicas.length < 4) this.start();
    else if (what === 9 && this.replicas.length > 1) this.#stop(replica);
  }

  change(id: string): void {
    const version = (this.#wanted.get(id) ?? 0) + 1;
    this.#wanted.set(id, version);
    if (this.random() < 0.5) {
      for (const hearer of this.#hearers) hearer.next({ id });
      return;
    }
    const message = { id, version };
    this.#unacked.add(message);
    this.#deliver(message);
  }

  /** Shards that nobody has go to whoever is there. */
  grantFree(): void {
    for (const shard of this.engine.unowned) oneOf(this.random, this.replicas).member.grant(shard);
  }

  #stop(replica: Replica): void {
    this.replicas.splice(this.replicas.indexOf(replica), 1);
    const { log } = this.engine;
    const since = log.length;
    replica.stop.abort();
    const own = log.slice(since).filter((line) => line.includes(replica.name));
    if (own[0] !== `leave ${replica.name}`) this.broken.push(`H10: ${own.join(', ')}`);
  }

  #deliver(message: Message): void {
    const consumers = [...this.#consumers];
    if (consumers.length === 0) setTimeout(() => this.#deliver(message), 100);
    else oneOf(this.random, consumers).next({ id: message.id, message });
  }

  /** Reads what is there at some moment, and brings it later. */
  async #list(signal: AbortSignal): Promise<string[]> {
    await new Promise((resolve) => setTimeout(resolve, span(this.random, 300)));
    const ids = [...this.#wanted.keys()];
    await new Promise((resolve) => setTimeout(resolve, span(this.random, 300)));
    signal.throwIfAborted();
    return ids;
  }

  async #reconcile(
    name: string,
    member: StandInMember,
    id: string,
    { shard = -1, term, signal, superseded }: ControllerContext,
  ): Promise<void> {
    const version = this.#wanted.get(id) ?? 0;
    if (shard !== shardOf(id, COUNT) || this.engine.termOf(shard) !== term) this.broken.push(`H1: ${id} in shard ${shard}, term ${term}`);
    this.#enter(name, shard, id, 1);
    try {
      await new Promise<void>((resolve, reject) => {
        const done = setTimeout(resolve, span(this.random, 800));
        signal.addEventListener('abort', () => {
          clearTimeout(done);
          if (member.held.includes(shard) && member.isMember && !this.engine.heirs.has(shard)) this.broken.push(`H7: ${id} was cut off`);
          reject(signal.reason as Error);
        });
        superseded.throwIfAborted();
      });
      if (this.random() < 0.1) throw new Error('by chance');
      this.#done.set(id, Math.max(version, this.#done.get(id) ?? 0));
    } finally {
      this.#enter(name, shard, id, -1);
    }
  }

  #enter(name: string, shard: number, id: string, by: 1 | -1): void {
    const running = (this.#running.get(id) ?? 0) + by;
    this.#running.set(id, running);
    if (running > 1) this.broken.push(`S1: ${id} runs twice`);
    const runners = this.#runners.get(shard) ?? new Set();
    this.#runners.set(shard, runners);
    runners.add(name);
    const isBusy = IDS.some((other) => shardOf(other, COUNT) === shard && (this.#running.get(other) ?? 0) > 0);
    if (!isBusy) runners.clear();
    else if (runners.size > 1) this.broken.push(`H1: ${[...runners].join(' and ')} run shard ${shard}`);
  }
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe('Replicas that share ids out', () => {
  it(`H1, H5, H7, H9, H10 should hold through ${LIVES} lives of moves, losses, stops and starts`, async () => {
    for (let seed = 1; seed <= LIVES; seed++) {
      const world = new World(seed);
      world.start();
      world.start();
      for (let i = 0; i < 60; i++) {
        world.happen();
        await vi.advanceTimersByTimeAsync(span(world.random, 600));
      }
      await vi.advanceTimersByTimeAsync(1_000);
      world.grantFree();
      // No round of a resync falls into this time: the moves themselves must have mended what they interrupted.
      await vi.advanceTimersByTimeAsync(30_000);
      expect([seed, ...world.broken, ...world.left]).toEqual([seed]);
      const { replicas } = world;
      for (const { stop } of replicas) stop.abort();
      await vi.advanceTimersByTimeAsync(60_000);
      await Promise.all(replicas.map(({ run }) => run));
      expect(vi.getTimerCount()).toBe(0);
    }
  }, 120_000);
});
