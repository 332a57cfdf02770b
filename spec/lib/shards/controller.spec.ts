import { concat, finalize, map, NEVER, Observable, of, Subject } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  type Config,
  Controller,
  type ControllerContext,
  defaultHasher,
  type EventStream,
  type Holding,
  noopStream,
  type Ownership,
  type Reconciler,
  resync,
  type Step,
} from 'kreconciler';
import { controlled } from '../../support/controlled.js';
import { counted } from '../../support/counted.js';
import { deferred } from '../../support/deferred.js';
import { logged } from '../../support/logged.js';
import type { IdList } from '../../../lib/list-ids.js';
import { idsIn, ShardsStandIn } from '../../support/shards-stand-in.js';

const COUNT = 4;
const hung = (): Promise<void> => new Promise(() => undefined);
const [id0 = '', other0 = '', third0 = ''] = idsIn(0, COUNT, 3);
const [id1 = ''] = idsIn(1, COUNT);
const [id2 = ''] = idsIn(2, COUNT);

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** A replica with a stream to be fed. */
function replica(engine: ShardsStandIn, reconciler: Reconciler<ControllerContext>, config: Partial<Config> = {}, name = 'a') {
  const member = engine.member(name);
  const events = new Subject<string>();
  const stop = new AbortController();
  const loop = controlled(reconciler, { events }, { shards: member, delayResolution: 10, ...config });
  const run = loop.controller.run(stop.signal);
  run.catch(() => undefined);
  return { ...loop, member, events, stop, run, told: (id?: string) => inWords(loop.steps, id) };
}

function inWords(steps: readonly Step[], id?: string): string[] {
  return steps
    .filter((step) => id === undefined || step.id === id)
    .map((step) => ('reason' in step && step.kind !== 'started' && step.kind !== 'enqueued' ? `${step.kind} ${step.reason}` : step.kind));
}

describe('config.shards', () => {
  const shards = new ShardsStandIn(COUNT).member();

  it.each<[string, Partial<Config>, string]>([
    ['leader', { leader: of(true) }, 'Expected `leader` to be nothing beside `shards`'],
    ['workerCount', { workerCount: 2 }, 'Expected `workerCount` to be nothing beside `shards`, got `2` (number)'],
    ['workerHasher', { workerHasher: () => 0 }, 'Expected `workerHasher` to be nothing beside `shards`'],
    ['standby', { standby: 'warm' }, "Expected `standby` to be 'cold' beside `shards`"],
  ])('should not take %s beside it', (_, config, message) => {
    expect(() => new Controller({ shards, ...config }, () => undefined, { noopStream })).toThrow(message);
    expect(() => new Controller({ shards, workerHasher: defaultHasher, standby: 'cold' }, () => undefined, { noopStream })).not.toThrow();
  });

  it.each<[unknown, string]>([
    [7, 'Expected `shards` to be an object'],
    [{ count: 0, holdings: NEVER }, 'Expected `shards.count` to be an integer >= 1, got `0` (number)'],
    [{ count: 4, holdings: 7 }, 'Expected `shards.holdings` to be an Observable'],
  ])('should not take %o', (odd, message) => {
    expect(() => new Controller({ shards: odd as typeof shards }, () => undefined, { noopStream })).toThrow(message);
  });
});

describe('A Controller of shards', () => {
  it('H2 should subscribe to nothing, take no event and run nothing before it is granted a shard', async () => {
    const engine = new ShardsStandIn(COUNT);
    const stream = counted(concat(of(id0, id1), NEVER));
    const member = engine.member();
    const { controller, steps } = controlled(() => undefined, { stream: stream.source }, { shards: member });
    const stop = new AbortController();
    const run = controller.run(stop.signal);
    await vi.advanceTimersByTimeAsync(60_000);
    expect([stream.subscribed(), steps.length, member.isMember]).toEqual([0, 0, true]);
    expect(controller.inspect()).toMatchObject({ leading: false, shards: { count: COUNT, owned: [] } });
    await expect(controller.reconcile(id0)).rejects.toThrow(`\`${id0}\` is not reconciled: this controller does not own its shard`);
    member.grant(0);
    expect(stream.subscribed()).toBe(1);
    expect(inWords(steps, id0)).toEqual(['enqueued', 'started', 'succeeded']);
    expect(inWords(steps, id1)).toEqual(['rejected not_owned']);
    expect(steps.find(({ id }) => id === id1)?.worker).toBe(1);
    expect(controller.inspect()).toMatchObject({ leading: true, shards: { count: COUNT, owned: [{ shard: 0, term: 1 }] } });
    stop.abort();
    await run;
  });

  it('should say to each run its shard and its term, also to one that has started as the shard was asked for', async () => {
    const engine = new ShardsStandIn(COUNT);
    const seen: unknown[] = [];
    const { controller, member, events, stop, run } = replica(engine, (id, { shard, term, worker }) => {
      seen.push([id, shard, term, worker]);
    });
    member.grant(2, 0);
    events.next(id0);
    events.next(id2);
    const early = controller.steps.subscribe(({ kind }) => {
      if (kind === 'started') member.revoke(0);
    });
    events.next(id0);
    early.unsubscribe();
    member.grant(0);
    events.next(id0);
    expect(seen).toEqual([
      [id0, 0, 2, 0],
      [id2, 2, 1, 2],
      [id0, 0, 2, 0],
      [id0, 0, 3, 0],
    ]);
    stop.abort();
    await run;
  });

  it('should have no shard and no such part of an inspection where there are none', async () => {
    let shard: unknown = 7;
    const { controller } = controlled(
      (_, context) => void (shard = context.shard),
      { stream: of('apple') },
      { leaderElectionEnabled: false },
    );
    expect(controller.inspect()).not.toHaveProperty('shards');
    await controller.run();
    expect(shard).toBeUndefined();
  });

  it('H5 should reject events of a shard that is to go, drop what is ready and waiting, let what runs finish, and free it then', async () => {
    const engine = new ShardsStandIn(COUNT);
    const running = deferred();
    const signals: AbortSignal[] = [];
    const { controller, member, events, told, stop, run } = replica(engine, (id, { signal }) => {
      signals.push(signal);
      return id === other0 ? { requeueDelay: 1_000 } : running.promise;
    });
    member.grant(0);
    events.next(other0);
    events.next(id0);
    events.next(third0);
    events.next(id0);
    member.revoke(0);
    expect(told(other0)).toEqual(['enqueued', 'started', 'requeued', 'dropped moved']);
    expect(told(third0)).toEqual(['enqueued', 'dropped moved']);
    expect(told(id0)).toEqual(['enqueued', 'started', 'merged']);
    expect(controller.inspect().shards?.owned).toEqual([]);
    await expect(controller.reconcile(id0)).rejects.toThrow('does not own its shard');
    expect(engine.log).toEqual(['join a']);
    running.resolve();
    await vi.advanceTimersByTimeAsync(0);
    expect(told(id0)).toEqual(['enqueued', 'started', 'merged', 'succeeded', 'enqueued', 'dropped moved']);
    expect(engine.log).toEqual(['join a', 'free a 0']);
    expect(signals.some(({ aborted }) => aborted)).toBe(false);
    stop.abort();
    await run;
  });

  it.each([
    ['revoked', 'moved'],
    ['lost', 'stopped'],
  ])('H5, L2 should start nothing of a shard that is %s, though the teardown of a stream ends what runs', async (how, reason) => {
    const engine = new ShardsStandIn(COUNT);
    const member = engine.member();
    const connection = new Subject<never>();
    const ran: string[] = [];
    const stream = concat(of(id0, other0, third0), NEVER).pipe(
      finalize(() => {
        connection.complete();
      }),
    );
    const reconciler: Reconciler<ControllerContext> = (id) => {
      ran.push(id);
      return connection;
    };
    const { controller, steps } = controlled(reconciler, { stream }, { shards: member });
    const run = controller.run();
    member.grant(0);
    if (how === 'lost') member.lose(0);
    else member.revoke(0);
    expect(ran).toEqual([id0]);
    expect([inWords(steps, other0), inWords(steps, third0)]).toEqual(Array(2).fill(['enqueued', `dropped ${reason}`]));
    expect(controller.inspect()).toMatchObject({ leading: false, ready: 0, running: 0 });
    void run;
  });

  it('H10 should take no term that comes anew while to let go of the one before stops the loop', async () => {
    const held = new Set<number>();
    const stop = new AbortController();
    let grant: (term: number) => void = () => undefined;
    const holdings = new Observable<Holding>((subscriber) => {
      grant = (term) => {
        const holding = new Observable<never>(() => {
          held.add(term);
          return () => {
            held.delete(term);
            if (term === 1) stop.abort();
          };
        });
        subscriber.next(Object.assign(holding, { shard: 0, term }));
      };
    });
    const { controller } = controlled(() => undefined, { noopStream }, { shards: { count: 1, holdings }, shutdownGrace: 0 });
    const run = controller.run(stop.signal);
    grant(1);
    grant(2);
    await vi.advanceTimersByTimeAsync(1_000);
    await run;
    expect([...held]).toEqual([]);
  });

  it('L2 should start nothing of a term when to let go of it, because the shard came anew, ends what runs', () => {
    const connection = new Subject<never>();
    const ran: string[] = [];
    let grant: (term: number) => void = () => undefined;
    const holdings = new Observable<Holding>((subscriber) => {
      grant = (term) => {
        const holding = NEVER.pipe(finalize(() => term === 1 && connection.complete()));
        subscriber.next(Object.assign(holding, { shard: 0, term }));
      };
    });
    const reconciler: Reconciler<ControllerContext> = (id) => {
      ran.push(id);
      return connection;
    };
    const stream = concat(of('web', 'db', 'mail'), NEVER);
    const { controller, steps } = controlled(reconciler, { stream }, { shards: { count: 1, holdings } });
    void controller.run();
    grant(1);
    grant(2);
    expect(ran).toEqual(['web']);
    expect([inWords(steps, 'db'), inWords(steps, 'mail')]).toEqual(Array(2).fill(['enqueued', 'dropped stopped']));
  });

  it('A1, K1 should give an event one step though whoever sees its rejection is granted the shard', () => {
    const engine = new ShardsStandIn(COUNT);
    const { controller, member, events, told } = replica(engine, () => undefined);
    member.grant(0, 1);
    member.lose(0);
    controller.steps.subscribe(({ kind }) => {
      if (kind === 'rejected') member.grant(0);
    });
    events.next(id0);
    expect(told(id0)).toEqual(['rejected not_owned']);
    events.next(id0);
    expect(told(id0)).toEqual(['rejected not_owned', 'enqueued', 'started', 'succeeded']);
  });

  it('H5 should free a shard that is at rest in the same call, once its drops were seen', () => {
    const engine = new ShardsStandIn(COUNT);
    const { controller, member, events } = replica(engine, () => ({ requeueDelay: 1_000 }));
    const order: string[] = [];
    controller.steps.subscribe(({ kind }) => order.push(`${kind} ${engine.log.length}`));
    member.grant(0);
    events.next(id0);
    member.revoke(0);
    expect(order).toEqual(['enqueued 1', 'started 1', 'requeued 1', 'dropped 1']);
    expect(engine.log).toEqual(['join a', 'free a 0']);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('H5 should cut off what has not finished within `shutdownGrace`, and remember the promise that is open (S1)', async () => {
    const engine = new ShardsStandIn(COUNT);
    const open = deferred();
    const signals: AbortSignal[] = [];
    const { member, events, told, stop, run } = replica(
      engine,
      (_, { signal }) => {
        signals.push(signal);
        return signals.length === 1 ? open.promise : undefined;
      },
      { shutdownGrace: 1_000, maxReconcileTime: 0 },
    );
    member.grant(0);
    events.next(id0);
    member.revoke(0);
    await vi.advanceTimersByTimeAsync(999);
    expect([signals[0]?.aborted, member.held]).toEqual([false, [0]]);
    await vi.advanceTimersByTimeAsync(1);
    expect([signals[0]?.aborted, member.held]).toEqual([true, []]);
    member.grant(0);
    events.next(id0);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(signals).toHaveLength(1);
    open.resolve();
    await vi.advanceTimersByTimeAsync(0);
    expect(told(id0)).toEqual([
      'enqueued',
      'started',
      'dropped moved',
      'abandoned',
      'merged',
      'released',
      'enqueued',
      'started',
      'succeeded',
    ]);
    stop.abort();
    await run;
  });

  it('H6 should cut off at once what runs of a shard that is lost, as at the end of a term (L2)', async () => {
    const engine = new ShardsStandIn(COUNT);
    const signals: AbortSignal[] = [];
    const { member, events, told, stop, run } = replica(engine, (id, { signal }) => {
      if (id === other0) return { requeueDelay: 1_000 };
      signals.push(signal);
      return hung();
    });
    member.grant(0);
    events.next(other0);
    events.next(id0);
    events.next(third0);
    events.next(id0);
    member.lose(0);
    expect(signals[0]?.aborted).toBe(true);
    expect(told(other0)).toEqual(['enqueued', 'started', 'requeued', 'dropped stopped']);
    expect(told(third0)).toEqual(['enqueued', 'dropped stopped']);
    expect(told(id0)).toEqual(['enqueued', 'started', 'merged', 'dropped stopped', 'enqueued', 'dropped stopped', 'abandoned']);
    expect(engine.log).toEqual(['join a']);
    stop.abort();
    await vi.advanceTimersByTimeAsync(30_000);
    await run;
  });

  it('H6 should cut off at once what was to finish when its shard is lost meanwhile', async () => {
    const engine = new ShardsStandIn(COUNT);
    const signals: AbortSignal[] = [];
    const { member, events, told } = replica(engine, (_, { signal }) => {
      signals.push(signal);
      return hung();
    });
    member.grant(0);
    events.next(id0);
    member.revoke(0);
    expect(signals[0]?.aborted).toBe(false);
    member.lose(0);
    expect(signals[0]?.aborted).toBe(true);
    expect(told(id0)).toEqual(['enqueued', 'started', 'dropped moved', 'abandoned']);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(engine.log).toEqual(['join a']);
  });

  it('L7, S1 should run no id twice at once in a process to which its shard comes back while a promise is open', async () => {
    const engine = new ShardsStandIn(COUNT);
    const promises = [deferred(), deferred()];
    let started = 0;
    const { controller, member, events, stop, run } = replica(engine, () => promises[started++]?.promise);
    member.grant(0);
    events.next(id0);
    member.lose(0);
    member.grant(0);
    events.next(id0);
    expect(started).toBe(1);
    expect(controller.inspect()).toMatchObject({ abandoned: 1, running: 0 });
    promises[0]?.resolve();
    await vi.advanceTimersByTimeAsync(0);
    expect(started).toBe(2);
    promises[1]?.resolve();
    stop.abort();
    await run;
  });

  it.each(['revoke', 'lose'] as const)('H7 should disturb no other shard when one goes by `%s`', async (how) => {
    const engine = new ShardsStandIn(COUNT);
    const running = deferred();
    const signals = new Map<string, AbortSignal>();
    const { member, events, told, stop, run } = replica(engine, (id, { signal }) => {
      signals.set(id, signal);
      return running.promise;
    });
    member.grant(0, 1);
    events.next(id0);
    events.next(id1);
    member[how](0);
    events.next(id0);
    events.next(id1);
    expect(signals.get(id0)?.aborted).toBe(how === 'lose');
    expect(signals.get(id1)?.aborted).toBe(false);
    running.resolve();
    await vi.advanceTimersByTimeAsync(0);
    expect(told(id1)).toEqual(['enqueued', 'started', 'merged', 'succeeded', 'enqueued', 'started', 'succeeded']);
    expect(told(id0)).toContain('rejected not_owned');
    stop.abort();
    await run;
  });

  it('W1, W2 should run `workerConcurrency` ids of each shard, and no more than `concurrency` of all', async () => {
    const engine = new ShardsStandIn(COUNT);
    const { controller, member, events, stop, run } = replica(engine, hung, { workerConcurrency: 3, concurrency: 5, shutdownGrace: 0 });
    member.grant(0, 1);
    for (const id of idsIn(0, COUNT, 9)) events.next(id);
    expect(controller.inspect()).toMatchObject({ running: 3, ready: 6 });
    for (const id of idsIn(1, COUNT, 9)) events.next(id);
    expect(controller.inspect()).toMatchObject({ running: 5, ready: 13 });
    member.lose(0);
    expect(controller.inspect()).toMatchObject({ running: 3, ready: 6, abandoned: 3 });
    stop.abort();
    await vi.advanceTimersByTimeAsync(0);
    await run;
  });

  it('S1, H5 should let several runs of a shard finish, and free it with the last of them', async () => {
    const engine = new ShardsStandIn(COUNT);
    const runs = [deferred(), deferred(), deferred()];
    let started = 0;
    const { member, events, stop, run } = replica(engine, () => runs[started++]?.promise, { workerConcurrency: 3 });
    member.grant(0);
    for (const id of idsIn(0, COUNT, 5)) events.next(id);
    member.revoke(0);
    for (const one of runs) {
      expect(member.held).toEqual([0]);
      one.resolve();
      await vi.advanceTimersByTimeAsync(0);
    }
    expect([member.held, started]).toEqual([[], 3]);
    stop.abort();
    await run;
  });

  it('C2 should keep an id paused while its shard is elsewhere', async () => {
    const engine = new ShardsStandIn(COUNT);
    const { controller, member, events, told, stop, run } = replica(engine, () => undefined);
    member.grant(0);
    controller.pause(id0);
    events.next(id0);
    member.revoke(0);
    expect(member.held).toEqual([]);
    member.grant(0);
    events.next(id0);
    controller.resume(id0);
    expect(told(id0)).toEqual(['paused', 'merged', 'enqueued', 'dropped moved', 'merged', 'resumed', 'enqueued', 'started', 'succeeded']);
    stop.abort();
    await run;
  });

  it('P1 should hold on to the shards that have something to do when its streams are complete', async () => {
    const engine = new ShardsStandIn(COUNT);
    let failures = 1;
    const { member, events, run } = replica(engine, (id) => {
      if (id === id0 && failures-- > 0) throw new Error('once');
    });
    member.grant(0, 1);
    events.next(id0);
    events.next(id1);
    events.complete();
    expect(member.held).toEqual([0, 1]);
    await vi.advanceTimersByTimeAsync(1_000);
    await run;
    expect(engine.log.slice(0, 2)).toEqual(['join a', 'leave a']);
    expect(member.held).toEqual([]);
  });

  it('should own what is granted once more in the same term', async () => {
    const granted = new Subject<Holding>();
    const never = Object.assign(new Observable<'revoked'>(), { shard: 0, term: 1 });
    const events = new Subject<string>();
    const { controller, steps } = controlled(() => undefined, { events }, { shards: { count: COUNT, holdings: granted } });
    void controller.run();
    granted.next(never);
    granted.next(never);
    expect(controller.inspect()).toMatchObject({ leading: true, shards: { owned: [{ shard: 0, term: 1 }] } });
    events.next(id0);
    await controller.reconcile(id0);
    expect(inWords(steps)).toEqual(['enqueued', 'started', 'succeeded', 'enqueued', 'started', 'succeeded']);
  });

  it('should let go of a term for which the next one has come all the same', async () => {
    const held: string[] = [];
    const granted = new Subject<Holding>();
    const holding = (term: number): Holding =>
      Object.assign(
        new Observable<'revoked'>(() => {
          held.push(`hold ${term}`);
          return () => held.push(`free ${term}`);
        }),
        { shard: 0, term },
      );
    const terms: unknown[] = [];
    const { controller } = controlled(
      (_, { term }) => void terms.push(term),
      { ids: concat(of(id0), NEVER) },
      { shards: { count: COUNT, holdings: granted } },
    );
    const stop = new AbortController();
    const run = controller.run(stop.signal);
    granted.next(holding(1));
    granted.next(holding(2));
    expect(held).toEqual(['hold 1', 'free 1', 'hold 2']);
    expect(controller.inspect().shards?.owned).toEqual([{ shard: 0, term: 2 }]);
    stop.abort();
    await run;
    expect(held).toEqual(['hold 1', 'free 1', 'hold 2', 'free 2']);
  });

  it('should warn of nothing while it owns nothing, nor of events for others', async () => {
    const engine = new ShardsStandIn(COUNT);
    const { logger, lines } = logged();
    const { member, events, stop, run } = replica(engine, () => undefined, { observability: { logger } });
    await vi.advanceTimersByTimeAsync(60_000);
    member.grant(0);
    events.next(id1);
    stop.abort();
    await run;
    expect(lines.filter(([level]) => level === 'warn' || level === 'error')).toEqual([]);
  });
});

describe('The streams of a Controller of shards', () => {
  it('H5 should hear of each shard that has come, once it is owned', async () => {
    const engine = new ShardsStandIn(COUNT);
    const member = engine.member();
    const heard: unknown[] = [];
    const stream: EventStream = (_, { owns, acquired }: Ownership) => {
      acquired.subscribe((shards) => heard.push([...shards, owns(id0), owns(id1)]));
      return NEVER;
    };
    const { controller } = controlled(() => undefined, { stream }, { shards: member });
    const stop = new AbortController();
    const run = controller.run(stop.signal);
    member.grant(0, 1);
    member.revoke(0);
    member.grant(0);
    expect(heard).toEqual([
      [0, true, false],
      [1, true, true],
      [0, true, true],
    ]);
    stop.abort();
    await run;
  });

  it('should own everything and acquire nothing without shards', async () => {
    const heard: unknown[] = [];
    const stream: EventStream = (_, { owns, acquired }) => {
      acquired.subscribe((shards) => heard.push(shards));
      heard.push(owns(id0), owns(id1));
      return of(id0);
    };
    await controlled(() => undefined, { stream }, { leaderElectionEnabled: false }).controller.run();
    expect(heard).toEqual([true, true]);
  });

  it('H7 should list at once for a shard that has come, and pass on only its ids', async () => {
    const engine = new ShardsStandIn(COUNT);
    const member = engine.member();
    const list = vi.fn(() => Promise.resolve([id0, id1, id2]));
    const streams: Record<string, EventStream> = { resync: (_, { acquired }) => resync({ every: 60_000, list, relistOn: acquired }) };
    const { controller, steps, kinds } = controlled(() => undefined, streams, { shards: member });
    const stop = new AbortController();
    const run = controller.run(stop.signal);
    // All that come together are in one list.
    member.grant(0, 1);
    await vi.advanceTimersByTimeAsync(0);
    expect(list).toHaveBeenCalledTimes(1);
    expect([kinds(id0).length, kinds(id1).length]).toEqual([3, 3]);
    expect(inWords(steps, id2)).toEqual(['rejected not_owned']);
    member.grant(2);
    await vi.advanceTimersByTimeAsync(0);
    expect(list).toHaveBeenCalledTimes(2);
    expect([kinds(id0).length, kinds(id1).length]).toEqual([3, 3]);
    expect(inWords(steps, id2)).toEqual(['rejected not_owned', 'enqueued', 'started', 'succeeded']);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(list).toHaveBeenCalledTimes(3);
    expect([kinds(id0).length, kinds(id1).length, kinds(id2).length]).toEqual([6, 6, 7]);
    stop.abort();
    await run;
  });

  it.each([
    ['at once', (ids: string[]) => ids],
    ['by a promise', (ids: string[]) => Promise.resolve(ids)],
  ])('Q4 should reject what is no id in a list for a shard that has come, and nothing else, when it is listed %s', async (_, listed) => {
    const engine = new ShardsStandIn(COUNT);
    const member = engine.member();
    const list = vi.fn(() => listed([id0, null, 5, '', id1] as string[]));
    const streams: Record<string, EventStream> = { resync: (_, { acquired }) => resync({ every: 60_000, list, relistOn: acquired }) };
    const { controller, steps } = controlled(() => undefined, streams, { shards: member });
    const stop = new AbortController();
    const run = controller.run(stop.signal);
    member.grant(0);
    await vi.advanceTimersByTimeAsync(0);
    member.grant(1);
    await vi.advanceTimersByTimeAsync(0);
    expect(list).toHaveBeenCalledTimes(2);
    expect(inWords(steps, id1)).toEqual(['rejected not_owned', 'enqueued', 'started', 'succeeded']);
    expect(inWords(steps, '')).toEqual(Array(6).fill('rejected invalid_id'));
    stop.abort();
    await run;
  });

  describe('H5 should run the ids of all shards that came in one breath', () => {
    const lists: [string, (ids: readonly string[]) => IdList][] = [
      ['at once', (ids) => ids],
      ['later', (ids) => Promise.resolve(ids)],
    ];
    const relists: [string, (acquired: Ownership['acquired']) => Observable<unknown>][] = [
      ['by `acquired`', (acquired) => acquired],
      ['by what was made of `acquired`', (acquired) => acquired.pipe(map((shards) => shards))],
    ];
    it.each(lists.flatMap(([when, answer]) => relists.map(([how, of]) => [when, how, answer, of] as const)))(
      'though the list, which answers %s, asks what is owned: %s',
      async (_, how, answer, relistOn) => {
        const engine = new ShardsStandIn(COUNT);
        const member = engine.member();
        const all = [0, 1, 2, 3].flatMap((shard) => idsIn(shard, COUNT, 3));
        const ran: string[] = [];
        let listed = 0;
        const streams: Record<string, EventStream> = {
          resync: (_, { acquired, owns }) =>
            resync({
              every: 60_000,
              list: () => {
                listed++;
                return answer(all.filter(owns));
              },
              relistOn: relistOn(acquired),
            }),
        };
        const { controller } = controlled((id) => void ran.push(id), streams, { shards: member });
        const stop = new AbortController();
        const run = controller.run(stop.signal);
        member.grant(0, 1, 2, 3);
        await vi.advanceTimersByTimeAsync(0);
        expect([...ran].sort()).toEqual([...all].sort());
        expect(listed).toBe(how === 'by `acquired`' ? 1 : 2);
        stop.abort();
        await run;
      },
    );
  });

  it('Y1 should list all in each round, though shards come just before', async () => {
    const engine = new ShardsStandIn(COUNT);
    const member = engine.member();
    const list = (): Promise<string[]> => new Promise((resolve) => setTimeout(() => resolve([id0, id1, id2]), 400));
    const streams: Record<string, EventStream> = { resync: (_, { acquired }) => resync({ every: 1_000, list, relistOn: acquired }) };
    const starts: number[] = [];
    const { controller } = controlled((id) => (id === id0 ? void starts.push(Date.now() - begun) : undefined), streams, { shards: member });
    const stop = new AbortController();
    const begun = Date.now();
    const run = controller.run(stop.signal);
    member.grant(0);
    await vi.advanceTimersByTimeAsync(900);
    for (const shard of [1, 2, 3]) {
      member.grant(shard);
      await vi.advanceTimersByTimeAsync(1_000);
    }
    // A list of one shard is under way when a round is due: all are listed after it.
    expect(starts).toEqual([400, 1_700, 2_700, 3_700]);
    stop.abort();
    await run;
  });

  it('H5 should list after a list under way for a shard that has come meanwhile', async () => {
    const engine = new ShardsStandIn(COUNT);
    const member = engine.member();
    const lists = [deferred<string[]>(), deferred<string[]>()];
    let listed = 0;
    const list = (): Promise<string[]> => lists[listed++]?.promise ?? Promise.resolve([]);
    const streams: Record<string, EventStream> = {
      resync: (_, { acquired }) => resync({ every: 60_000, timeout: 30_000, list, relistOn: acquired }),
    };
    const { controller, steps } = controlled(() => undefined, streams, { shards: member });
    const stop = new AbortController();
    const run = controller.run(stop.signal);
    member.grant(0);
    await vi.advanceTimersByTimeAsync(10);
    member.grant(1);
    expect(listed).toBe(1);
    // What was created meanwhile is not in that list.
    lists[0]?.resolve([id0]);
    await vi.advanceTimersByTimeAsync(0);
    expect(listed).toBe(2);
    lists[1]?.resolve([id0, id1]);
    await vi.advanceTimersByTimeAsync(0);
    expect(inWords(steps, id0)).toEqual(['enqueued', 'started', 'succeeded']);
    expect(inWords(steps, id1)).toEqual(['enqueued', 'started', 'succeeded']);
    stop.abort();
    await run;
  });

  it('L3 should let go of its streams with its last shard, and subscribe anew with the next, once however many it owns', async () => {
    const engine = new ShardsStandIn(COUNT);
    const member = engine.member();
    const stream = counted(NEVER);
    const { controller } = controlled(() => undefined, { stream: stream.source }, { shards: member });
    const stop = new AbortController();
    const run = controller.run(stop.signal);
    member.grant(0, 1);
    expect([stream.subscribed(), stream.open()]).toEqual([1, 1]);
    member.revoke(0);
    expect(stream.open()).toBe(1);
    member.lose(1);
    expect(stream.open()).toBe(0);
    member.grant(2);
    expect([stream.subscribed(), stream.open()]).toEqual([2, 1]);
    stop.abort();
    await run;
    expect(stream.open()).toBe(0);
  });

  it('H10, L5 should end its membership first when it is stopped, and then free each shard as it comes to rest', async () => {
    const engine = new ShardsStandIn(COUNT);
    const running = deferred();
    const { member, events, stop, run } = replica(engine, (id) => (id === id1 ? running.promise : undefined));
    member.grant(0, 1, 2);
    events.next(id1);
    stop.abort();
    expect(engine.log).toEqual(['join a', 'leave a', 'free a 0', 'free a 2']);
    running.resolve();
    await run;
    expect(engine.log).toEqual(['join a', 'leave a', 'free a 0', 'free a 2', 'free a 1']);
  });

  it('H10 should end its membership first when its streams are complete and everything has settled', async () => {
    const engine = new ShardsStandIn(COUNT);
    const member = engine.member();
    const { controller, kinds } = controlled(() => undefined, { stream: of(id0) }, { shards: member });
    const run = controller.run();
    member.grant(0);
    await run;
    expect(kinds(id0)).toEqual(['enqueued', 'started', 'succeeded']);
    expect(engine.log).toEqual(['join a', 'leave a', 'free a 0']);
  });

  it('L4 should stop in good order when the source of shards errors, and reject naming it', async () => {
    const engine = new ShardsStandIn(COUNT);
    const running = deferred();
    const { member, events, told, run } = replica(engine, () => running.promise);
    member.grant(0);
    events.next(id0);
    member.fail(new Error('another count'));
    const rejected = expect(run).rejects.toThrow('The source of shards failed: another count');
    expect(member.held).toEqual([0]);
    running.resolve();
    await rejected;
    expect(told(id0)).toEqual(['enqueued', 'started', 'succeeded']);
    expect(member.held).toEqual([]);
  });

  const holding = (fields: object): unknown => Object.assign(new Observable<'revoked'>(), fields);
  it.each<[string, unknown, string]>([
    ['is no Observable', { shard: 1, term: 1 }, 'Expected `holding` to be an Observable, got `{"shard":1,"term":1}` (object)'],
    ['is nothing', null, 'Expected `holding` to be an Observable, got `null`'],
    ['has a shard too many', holding({ shard: COUNT, term: 1 }), 'Expected `holding.shard` to be an integer from 0 to 3, got `4` (number)'],
    ['has no whole shard', holding({ shard: 0.5, term: 1 }), 'Expected `holding.shard` to be an integer from 0 to 3, got `0.5` (number)'],
    ['has a negative shard', holding({ shard: -1, term: 1 }), 'Expected `holding.shard` to be an integer from 0 to 3, got `-1` (number)'],
    ['has no shard', holding({ term: 1 }), 'Expected `holding.shard` to be an integer from 0 to 3, got `undefined`'],
    ['has no term', holding({ shard: 1 }), 'Expected `holding.term` to be a number, got `undefined`'],
  ])('L4 should take a holding that %s for an error of the source of shards', async (_, odd, message) => {
    const engine = new ShardsStandIn(COUNT);
    const { controller, member, events, told, run } = replica(engine, () => undefined);
    member.grant(0);
    member.say(odd);
    events.next(id1);
    await expect(run).rejects.toThrow(`The source of shards failed: ${message}`);
    expect(told(id1)).not.toContain('started');
    expect(controller.inspect()).toMatchObject({ shards: { owned: [] } });
    expect([engine.log, member.held]).toEqual([['join a', 'leave a', 'free a 0'], []]);
  });
});
