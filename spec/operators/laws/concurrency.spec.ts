import { fair, fifo, type ReadyQueue, type ReconcileConfig, type Reconciler } from 'kreconciler/operators';
import { finalize, ignoreElements, NEVER, timer } from 'rxjs';
import { describe, expect, it, test } from 'vitest';
import { checkAccounting } from '../../support/accounting.js';
import { type Deferred, deferred } from '../../support/deferred.js';
import { NOTHING_LEFT, Rig } from '../../support/rig.js';

/** Runs that end when a test says so, and how many were on at once, at most and now, in all and by worker. */
class Runs {
  readonly open = new Map<string, Deferred<undefined>>();
  readonly started: string[] = [];
  most = 0;

  readonly reconciler: Reconciler = (id) => {
    if (this.open.has(id)) throw new Error(`S1: ${id} runs already`);
    this.started.push(id);
    const run = deferred<undefined>();
    this.open.set(id, run);
    this.most = Math.max(this.most, this.open.size);
    return run.promise;
  };

  end(...ids: string[]): void {
    for (const id of ids) {
      this.open.get(id)?.resolve(undefined);
      this.open.delete(id);
    }
  }

  get on(): string[] {
    return [...this.open.keys()];
  }
}

const byFirstLetter = (id: string): number => id.charCodeAt(0) - 97;

describe('W1: several ids of one worker', () => {
  test('W1 should run as many as it may, and the next as soon as one of them ends', async () => {
    const runs = new Runs();
    const rig: Rig = new Rig(runs.reconciler, { workerConcurrency: 3 });
    rig.trigger('one', 'two', 'three', 'four', 'five');
    expect(runs.on).toEqual(['one', 'two', 'three']);
    runs.end('two');
    await rig.clock.pass(0);
    expect(runs.on).toEqual(['one', 'three', 'four']);
    runs.end('four', 'three');
    await rig.clock.pass(0);
    expect(runs.on).toEqual(['one', 'five']);
    runs.end('one', 'five');
    rig.events.complete();
    await rig.clock.pass(0);
    expect(rig.end).toBe('completed');
    checkAccounting(rig.steps);
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  test('W1 should let a slow id hold nobody, for however long it runs', async () => {
    const rig: Rig = new Rig((id) => (id === 'slow' ? new Promise(() => undefined) : timer(5, rig.clock).pipe(ignoreElements())), {
      workerConcurrency: 2,
      maxReconcileTime: 0,
    });
    rig.trigger('slow');
    for (let i = 0; i < 100; i++) rig.trigger(`quick ${String(i)}`);
    await rig.clock.pass(500);
    expect(rig.told('succeeded')).toHaveLength(100);
  });

  test('W1 should wake all that fall due together', async () => {
    const rig: Rig = new Rig((_, { reason }) => (reason === 'event' ? { requeueDelay: 100 } : new Promise<undefined>(() => undefined)), {
      workerConcurrency: Infinity,
      maxReconcileTime: 0,
    });
    for (let i = 0; i < 50; i++) rig.trigger(`id ${String(i)}`);
    await rig.clock.pass(100);
    expect(rig.told('started')).toHaveLength(100);
  });

  test('S1 should hold: an id that is asked for again runs after its run, not beside it', async () => {
    const runs = new Runs();
    const rig: Rig = new Rig(runs.reconciler, { workerConcurrency: 3 });
    rig.trigger('one', 'one', 'two', 'one');
    expect(runs.started).toEqual(['one', 'two']);
    runs.end('one');
    await rig.clock.pass(0);
    expect(runs.started).toEqual(['one', 'two', 'one']);
    expect(rig.told('merged')).toHaveLength(2);
  });

  test('B2 should run synchronous ids one after the other, without a stack that grows', () => {
    const rig: Rig = new Rig(() => undefined, { workerConcurrency: 4, workerQueueSize: Infinity });
    const ids = Array.from({ length: 20_000 }, (_, i) => `id ${String(i)}`);
    rig.trigger(...ids);
    expect(rig.told('succeeded')).toHaveLength(20_000);
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  test('S1, A1 to A4 should hold with promises, Observables and throws of all lengths', async () => {
    let seed = 1;
    const random = (n: number): number => (seed = (seed * 48_271) % 2_147_483_647) % n;
    const on = new Set<string>();
    let most = 0;
    const rig: Rig = new Rig(
      (id) => {
        if (on.has(id)) throw new Error(`S1: ${id}`);
        on.add(id);
        most = Math.max(most, on.size);
        const over = (): void => void on.delete(id);
        const what = random(4);
        if (what === 0) over();
        if (what === 0) return random(2) === 0 ? { requeueDelay: random(50) } : undefined;
        if (what === 1) return timer(random(30), rig.clock).pipe(ignoreElements(), finalize(over));
        return new Promise<undefined>((resolve, reject) => {
          rig.clock.schedule(() => {
            over();
            if (what === 2) resolve(undefined);
            else reject(new Error('no'));
          }, random(30));
        });
      },
      { workerConcurrency: 3, maxItemRetries: 2, maxReconcileTime: 1000 },
    );
    for (let i = 0; i < 300; i++) {
      rig.trigger(`id ${String(random(12))}`);
      await rig.clock.pass(random(10));
    }
    rig.stop.next();
    await rig.clock.pass(5000);
    expect(rig.steps.filter((step) => 'error' in step && String(step.error).includes('S1'))).toEqual([]);
    expect(most).toBe(3);
    expect(rig.end).toBe('completed');
    checkAccounting(rig.steps);
    expect(rig.left).toEqual(NOTHING_LEFT);
  });
});

describe('W2: places of the whole loop', () => {
  const config = { workerCount: 3, workerHasher: byFirstLetter };

  test('W2 should never run more than there are, and give all workers their turns', async () => {
    const runs = new Runs();
    const rig: Rig = new Rig(runs.reconciler, { ...config, concurrency: 1 });
    rig.trigger('apple', 'avocado', 'apricot', 'banana', 'berry', 'cherry');
    for (let i = 0; i < 6; i++) {
      expect(runs.on).toHaveLength(1);
      runs.end(...runs.on);
      await rig.clock.pass(0);
    }
    expect(runs.started).toEqual(['apple', 'banana', 'cherry', 'avocado', 'berry', 'apricot']);
    expect(runs.most).toBe(1);
  });

  test.each([
    [1, 2],
    [2, 1],
    [1, Infinity],
  ])('W2 should give a place on when the end of its run is known, with %s workers of %s runs', async (workerCount, workerConcurrency) => {
    const rig: Rig = new Rig(
      async (id) => {
        if (id === 'web') for (let i = 0; i < 8; i++) rig.trigger(`service-${i}`);
        await Promise.resolve();
      },
      { concurrency: 1, workerCount, workerConcurrency },
    );
    rig.trigger('web');
    for (let i = 0; i < 20; i++) await rig.clock.pass(0);
    const runs = rig.told('started', 'succeeded');
    expect(runs).toHaveLength(18);
    for (let i = 0; i < runs.length; i += 2) expect(runs[i + 1]).toBe(runs[i]?.replace('started', 'succeeded'));
  });

  test('W2 should not let a worker that runs several keep the others from a place', async () => {
    const runs = new Runs();
    const rig: Rig = new Rig(runs.reconciler, { ...config, workerConcurrency: 2, concurrency: 2 });
    rig.trigger('apple', 'avocado', 'apricot', 'banana', 'cherry');
    expect(runs.on).toEqual(['apple', 'avocado']);
    runs.end('apple');
    await rig.clock.pass(0);
    expect(runs.on).toEqual(['avocado', 'banana']);
    runs.end('banana');
    await rig.clock.pass(0);
    expect(runs.on).toEqual(['avocado', 'cherry']);
    runs.end('cherry');
    await rig.clock.pass(0);
    expect(runs.on).toEqual(['avocado', 'apricot']);
  });

  test('W2 should keep no worker at its own limit in the line', async () => {
    const runs = new Runs();
    const rig: Rig = new Rig(runs.reconciler, { ...config, concurrency: 2 });
    rig.trigger('apple', 'avocado', 'banana', 'cherry');
    expect(runs.on).toEqual(['apple', 'banana']);
    runs.end('banana');
    await rig.clock.pass(0);
    expect(runs.on).toEqual(['apple', 'cherry']);
    runs.end('cherry');
    await rig.clock.pass(0);
    expect(runs.on).toEqual(['apple']);
    runs.end('apple');
    await rig.clock.pass(0);
    expect(runs.on).toEqual(['avocado']);
  });

  test('W2 should give a place on that is of no use any more', async () => {
    const runs = new Runs();
    const rig: Rig = new Rig(runs.reconciler, { ...config, concurrency: 1 });
    rig.trigger('apple', 'banana', 'cherry');
    rig.reset.next();
    rig.trigger('carrot', 'bean');
    await rig.clock.pass(0);
    expect(runs.started).toEqual(['apple', 'carrot']);
    runs.end('carrot');
    await rig.clock.pass(0);
    expect(runs.started).toEqual(['apple', 'carrot', 'bean']);
  });

  test('W2 should hold in a storm, with every worker served', async () => {
    const runs = new Runs();
    const rig: Rig = new Rig(runs.reconciler, { workerCount: 16, workerConcurrency: 2, concurrency: 8, workerQueueSize: Infinity });
    const ids = Array.from({ length: 400 }, (_, i) => `id ${String(i)}`);
    rig.trigger(...ids);
    while (runs.open.size > 0) {
      runs.end(runs.on[runs.started.length % runs.on.length] as string);
      await rig.clock.pass(0);
      if (runs.started.length < 370) expect(runs.open.size).toBe(8);
    }
    expect(runs.most).toBe(8);
    expect(rig.told('succeeded')).toHaveLength(400);
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  test('W4 should free the places of a run that was given up, though its promise is open', async () => {
    const rig: Rig = new Rig((id) => (id.startsWith('hung') ? new Promise(() => undefined) : undefined), {
      workerCount: 2,
      workerHasher: (id) => (id.endsWith('there') ? 1 : 0),
      workerConcurrency: 2,
      concurrency: 2,
      maxReconcileTime: 15,
      maxItemRetries: 0,
      order: fair({ key: () => 'all', concurrency: 2 }),
    });
    rig.trigger('hung one', 'hung two', 'here', 'there');
    await rig.clock.pass(14);
    expect(rig.told('succeeded')).toEqual([]);
    await rig.clock.pass(1);
    expect(rig.told('succeeded').sort()).toEqual(['succeeded here', 'succeeded there']);
    expect(rig.told('abandoned')).toHaveLength(2);
  });

  test('P2, P3 should leave no place taken by a lane that is gone', async () => {
    const runs = new Runs();
    const rig: Rig = new Rig(runs.reconciler, { ...config, concurrency: 1, shutdownGrace: 10 });
    rig.trigger('apple', 'banana');
    rig.stop.next();
    await rig.clock.pass(20);
    expect(rig.end).toBe('completed');
    expect(runs.started).toEqual(['apple']);
    checkAccounting(rig.steps);
  });
});

describe('with several runs at once', () => {
  const three = { workerConcurrency: 3 };
  const hangs =
    (signals: AbortSignal[]): Reconciler =>
    (_, { signal }) => {
      signals.push(signal);
      return new Promise(() => undefined);
    };

  test('O1 should cut each run off when its own time is over', async () => {
    const rig: Rig = new Rig(() => NEVER, { ...three, maxReconcileTime: 15, maxItemRetries: 0 });
    rig.trigger('one');
    rig.clock.advance(4);
    rig.trigger('two');
    rig.clock.advance(5);
    rig.trigger('three', 'four');
    rig.clock.advance(100);
    expect(rig.steps.filter(({ kind }) => kind === 'dropped')).toMatchObject([
      { id: 'one', at: 15 },
      { id: 'two', at: 19 },
      { id: 'three', at: 24 },
      { id: 'four', at: 30 },
    ]);
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  test('L2 should cut all of them off at a reset, and record all before a signal aborts', () => {
    const signals: AbortSignal[] = [];
    const rig: Rig = new Rig(hangs(signals), three);
    rig.trigger('one', 'two', 'three', 'four');
    let seen = -1;
    signals[0]!.addEventListener('abort', () => (seen = rig.queues[0]!.running));
    rig.reset.next();
    expect(seen).toBe(0);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true, true]);
    expect(rig.told('dropped')).toEqual(['dropped four stopped', 'dropped one stopped', 'dropped two stopped', 'dropped three stopped']);
    rig.trigger('five');
    expect(signals).toHaveLength(4);
  });

  test('P2 should let all of them finish while stopping, and give up those that go beyond the grace', async () => {
    const work = deferred<undefined>();
    const rig: Rig = new Rig((id) => (id === 'two' ? work.promise : new Promise(() => undefined)), { ...three, shutdownGrace: 50 });
    rig.trigger('one', 'two', 'three', 'four');
    rig.stop.next();
    work.resolve(undefined);
    await rig.clock.pass(49);
    expect(rig.told('succeeded', 'dropped')).toEqual(['dropped four stopped', 'succeeded two']);
    expect(rig.end).toBeUndefined();
    await rig.clock.pass(1);
    expect(rig.told('dropped')).toEqual(['dropped four stopped', 'dropped one stopped', 'dropped three stopped']);
    expect(rig.end).toBe('completed');
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  test('P1 should wait for all of them', async () => {
    const runs = new Runs();
    const rig: Rig = new Rig(runs.reconciler, three);
    rig.trigger('one', 'two');
    rig.events.complete();
    runs.end('one');
    await rig.clock.pass(0);
    expect(rig.end).toBeUndefined();
    runs.end('two');
    await rig.clock.pass(0);
    expect(rig.end).toBe('completed');
  });

  test('P3 should abort all of them when it is unsubscribed', () => {
    const signals: AbortSignal[] = [];
    const rig: Rig = new Rig(hangs(signals), three);
    rig.trigger('one', 'two', 'three');
    rig.subscription.unsubscribe();
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true, true]);
    expect(rig.clock.timers).toBe(0);
  });
});

describe('P4: an order that breaks its rules', () => {
  const broken: [string, () => ReadyQueue, RegExp][] = [
    [
      'throws when it is made',
      () => {
        throw new Error('no order');
      },
      /it could not be made/,
    ],
    ['is none', () => undefined as unknown as ReadyQueue, /it could not be made/],
    ['comes later', () => Promise.resolve(made()) as unknown as ReadyQueue, /it could not be made/],
    [
      'throws when it is pushed to',
      () => ({
        ...made(),
        push: () => {
          throw new Error('full');
        },
      }),
      /it threw/,
    ],
    [
      'throws when it is asked',
      () => ({
        ...made(),
        shift: () => {
          throw new Error('lost');
        },
      }),
      /it threw/,
    ],
    ['loses an id', () => ({ ...made(), push: () => undefined, shift: () => undefined }), /gave nothing/],
    ['invents an id', () => ({ ...made(), shift: () => ({ id: 'ghost', priority: 0, since: 0 }) }), /not there/],
    [
      'throws when a run has ended',
      () => ({
        ...made(),
        ended: () => {
          throw new Error('who?');
        },
      }),
      /it threw/,
    ],
  ];
  const made = (): ReadyQueue => {
    const queue = fifo();
    return {
      push: (item) => queue.push(item),
      shift: () => queue.shift(),
      remove: (item) => queue.remove(item),
      ended: (item) => queue.ended(item),
    };
  };

  it.each(broken)('P4 should end the loop in good order by an error that says so, if it %s', async (_, order, message) => {
    for (const limits of [{}, { workerConcurrency: 3 }, { concurrency: 1 }, { workerConcurrency: 3, concurrency: 2 }]) {
      const rig: Rig = new Rig(() => Promise.resolve(), { order, ...limits });
      rig.trigger('one', 'two');
      await rig.clock.pass(100);
      expect((rig.end as { error: Error }).error.message).toMatch(message);
      checkAccounting(rig.steps);
      expect(rig.left).toEqual(NOTHING_LEFT);
    }
  });
});

describe('W7: superseded', () => {
  test('W7 should abort for an event that marks the run, once that was told of, and not before', async () => {
    const signals: AbortSignal[] = [];
    const seen: string[] = [];
    const rig: Rig = new Rig(
      (_, { superseded }) => {
        superseded.addEventListener('abort', () => seen.push('aborted'));
        signals.push(superseded);
        return new Promise<undefined>(() => undefined);
      },
      {},
      ({ kind }) => {
        if (kind === 'merged') seen.push(`merged, ${signals[0]?.aborted === true ? 'late' : 'first'}`);
      },
    );
    rig.trigger('apple', 'other');
    expect(signals[0]?.aborted).toBe(false);
    rig.events.next({ id: 'apple', priority: -1 });
    expect(signals[0]?.aborted).toBe(false);
    rig.trigger('apple', 'apple');
    expect(signals[0]?.reason).toMatchObject({ name: 'AbortError' });
    expect(seen).toEqual(['merged, first', 'merged, first', 'aborted', 'merged, late']);
  });

  test('W7 should have aborted for one who asks late', async () => {
    const asks = deferred();
    let aborted: boolean | undefined;
    const rig: Rig = new Rig(async (_, context) => {
      if (aborted !== undefined) return;
      await asks.promise;
      aborted = context.superseded.aborted;
    });
    rig.trigger('apple', 'apple');
    asks.resolve();
    await rig.clock.pass(0);
    expect(aborted).toBe(true);
    expect(rig.told('succeeded')).toHaveLength(2);
  });

  const ways: [string, (reason: unknown) => unknown][] = [
    ['it', (reason) => reason],
    ['an error it caused', (cause) => new Error('fetch failed', { cause })],
  ];
  /** A run of `apple` gives way to a newer event, by failing with what `error` makes of that, and runs once more. */
  async function gaveWay(config: ReconcileConfig, error = (reason: unknown): unknown => reason): Promise<Rig> {
    let runs = 0;
    const rig: Rig = new Rig((_, { superseded, attempt }) => {
      expect(attempt).toBe(1);
      if (++runs > 1) return undefined;
      return new Promise<undefined>((__, reject) => {
        superseded.addEventListener('abort', () => reject(error(superseded.reason)));
      });
    }, config);
    rig.trigger('apple');
    await rig.clock.pass(3);
    rig.trigger('apple');
    await rig.clock.pass(100);
    const requeued = rig.steps.find(({ kind }) => kind === 'requeued');
    expect(requeued).toMatchObject({ failure: 'superseded', attempt: 1, delay: 10 });
    expect(requeued).not.toHaveProperty('error');
    expect(rig.starts('apple')).toEqual([0, 20]);
    expect(rig.told('succeeded')).toEqual(['succeeded apple']);
    checkAccounting(rig.steps);
    return rig;
  }

  it.each(ways)('W7 should requeue a run that fails by %s, without an error and without an attempt', async (_, error) => {
    await gaveWay({ maxItemRetries: 0 }, error);
  });

  test('W7, Q2 should refuse no run that gave way, though as many ids wait as may', async () => {
    const rig = await gaveWay({ delayQueueSize: 0 });
    expect(rig.told('dropped')).toEqual([]);
  });

  test('W7 should take any other error for a failure, superseded or not', async () => {
    const rig: Rig = new Rig(
      (_, { superseded }) =>
        new Promise<undefined>((__, reject) => {
          superseded.addEventListener('abort', () => reject(new Error('no')));
        }),
      { maxItemRetries: 0 },
    );
    rig.trigger('apple', 'apple');
    await rig.clock.pass(0);
    expect(rig.told('dropped')).toEqual(['dropped apple retries']);
  });

  test('W7 should not abort the run that an event has made, though it came before the one before was called', () => {
    const signals: AbortSignal[] = [];
    const rig: Rig = new Rig(
      (_, { superseded }) => {
        signals.push(superseded);
        return signals.length === 1 ? undefined : NEVER;
      },
      {},
      ({ kind }) => {
        if (kind === 'started' && signals.length === 0) rig.trigger('apple');
      },
    );
    rig.trigger('apple');
    expect(signals.map(({ aborted }) => aborted)).toEqual([false, false]);
    rig.trigger('apple');
    expect(signals.map(({ aborted }) => aborted)).toEqual([false, true]);
  });

  test('W7 should not abort a run for what came before it, or for another id', () => {
    const signals: Record<string, AbortSignal> = {};
    const rig: Rig = new Rig(
      (id, { superseded }) => {
        signals[id] = superseded;
        return new Promise<undefined>(() => undefined);
      },
      { workerConcurrency: 2 },
    );
    rig.trigger('one', 'two', 'three', 'three', 'two');
    expect([signals['one']?.aborted, signals['two']?.aborted]).toEqual([false, true]);
  });
});
