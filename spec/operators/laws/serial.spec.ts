import { ofKind, reconcile, type Reconciler, type Step } from 'kreconciler/operators';
import { marbles } from 'kreconciler/testing';
import { finalize, from, ignoreElements, of, Subject, throwError, timer } from 'rxjs';
import { describe, expect, it, test } from 'vitest';
import { type Deferred, deferred } from '../../support/deferred.js';
import { inWords, Rig } from '../../support/rig.js';

/** Counts the runs, and those that overlap. A run is over when the work is, whatever the loop thinks. */
class Exclusive {
  readonly #running = new Set<string>();
  runs = 0;
  overlaps = 0;

  enter(id: string): void {
    if (this.#running.has(id)) this.overlaps++;
    this.#running.add(id);
    this.runs++;
  }

  leave(id: string): void {
    this.#running.delete(id);
  }
}

describe('S1: no id runs twice at once', () => {
  test(
    'S1 should not start an id that is running, whatever events come',
    marbles(({ hot, cold, scheduler, expectSteps }) => {
      const source = hot('     -a-aa-a-------|');
      const run = cold('        ----|');
      expectSteps(source.pipe(reconcile(() => run.pipe(ignoreElements()), { scheduler }))).toBeExactly({
        enqueued: '            -a---a---a-----',
        started: '             -a---a---a-----',
        succeeded: '           -----a---a---a-',
        merged: '              ---aa-a--------',
        ends: '                --------------|',
      });
    }),
  );

  /** Each way in which a loop stops caring for a run whose promise goes on. */
  const ways: readonly [string, (rig: Rig) => Promise<void>][] = [
    ['a timeout', (rig) => rig.clock.pass(20)],
    [
      'a reset',
      async (rig) => {
        rig.reset.next();
      },
    ],
    [
      'a timeout and then a reset',
      async (rig) => {
        await rig.clock.pass(20);
        rig.reset.next();
      },
    ],
    [
      'two resets',
      async (rig) => {
        rig.reset.next();
        rig.trigger('a');
        rig.reset.next();
      },
    ],
  ];

  for (const settle of ['resolve', 'reject'] as const) {
    it.each(ways)(
      `S1 should not start an id whose promise is still open after %s, until that promise has settled (${settle})`,
      async (_, cutOff) => {
        const exclusive = new Exclusive();
        const open: Deferred<void>[] = [];
        const rig: Rig = new Rig(
          async (id) => {
            exclusive.enter(id);
            const work = deferred();
            open.push(work);
            await work.promise.finally(() => exclusive.leave(id));
          },
          { maxReconcileTime: 15 },
        );
        rig.trigger('a');
        await cutOff(rig);
        rig.trigger('a', 'a');
        await rig.clock.pass(1000);
        expect(exclusive).toMatchObject({ runs: 1, overlaps: 0 });

        open[0]![settle](undefined);
        await rig.clock.pass(1);
        expect(exclusive).toMatchObject({ runs: 2, overlaps: 0 });
        expect(rig.told('released')).toEqual(['released a']);
      },
    );
  }

  test('S1 should hold for a promise that follows a synchronous Observable in the same lane', async () => {
    const exclusive = new Exclusive();
    const rig: Rig = new Rig(
      (id) => {
        if (id === 'o') return of(undefined);
        exclusive.enter(id);
        return new Promise<void>(() => {});
      },
      { maxReconcileTime: 15 },
    );
    rig.trigger('o', 'a');
    await rig.clock.pass(20);
    rig.trigger('a');
    await rig.clock.pass(1000);
    expect(exclusive).toMatchObject({ runs: 1, overlaps: 0 });
    expect(rig.told('abandoned')).toEqual(['abandoned a']);
  });

  test('S1 should hold for an async iterable that goes on after its timeout', async () => {
    const exclusive = new Exclusive();
    const work = deferred();
    const rig: Rig = new Rig(
      async function* (id) {
        exclusive.enter(id);
        yield undefined;
        await work.promise;
        exclusive.leave(id);
      },
      { maxReconcileTime: 15 },
    );
    rig.trigger('a');
    await rig.clock.pass(20);
    rig.trigger('a');
    await rig.clock.pass(100);
    expect(exclusive).toMatchObject({ runs: 1, overlaps: 0 });

    work.resolve();
    await rig.clock.pass(1);
    expect(exclusive).toMatchObject({ runs: 2, overlaps: 0 });
  });

  test('S1 should let an id start again at once after the timeout of an Observable, since that is unsubscribed', () => {
    const exclusive = new Exclusive();
    const rig: Rig = new Rig(
      (id) => {
        exclusive.enter(id);
        return timer(100, rig.clock).pipe(
          ignoreElements(),
          finalize(() => exclusive.leave(id)),
        );
      },
      { maxReconcileTime: 15, maxItemRetries: 3 },
    );
    rig.trigger('a');
    rig.clock.advance(200);
    expect(exclusive).toMatchObject({ runs: 4, overlaps: 0 });
    expect(rig.told('abandoned')).toEqual([]);
  });

  test('S1 should hold when a run is cut off from inside the reconciler', async () => {
    const exclusive = new Exclusive();
    const work = deferred();
    const rig: Rig = new Rig(async (id) => {
      exclusive.enter(id);
      if (exclusive.runs === 1) rig.reset.next();
      await work.promise;
      exclusive.leave(id);
    });
    rig.trigger('a');
    rig.trigger('a');
    await rig.clock.pass(100);
    expect(exclusive).toMatchObject({ runs: 1, overlaps: 0 });

    work.resolve();
    await rig.clock.pass(100);
    expect(exclusive).toMatchObject({ runs: 2, overlaps: 0 });
  });
});

describe('S2: events during a run cause one more', () => {
  it.each([1, 2, 1000])('S2 should run once more, after it, for %i events during a run', (count) => {
    const starts: number[] = [];
    const rig: Rig = new Rig(() => {
      starts.push(rig.clock.now());
      return timer(5, rig.clock).pipe(ignoreElements());
    });
    rig.trigger('a');
    rig.clock.advance(2);
    for (let i = 0; i < count; i++) rig.trigger('a');
    rig.clock.advance(100);
    expect(starts).toEqual([0, 5]);
    expect(rig.told('merged')).toHaveLength(count);
  });

  it.each<[string, Reconciler]>([
    ['returns', () => undefined],
    ['asks for a requeue', () => ({ requeueDelay: 1000 })],
    [
      'throws',
      () => {
        throw new Error('no');
      },
    ],
    ['errors', () => throwError(() => new Error('no'))],
    [
      'is dropped for good',
      () => {
        throw Object.assign(new Error('no'), { [Symbol.for('kreconciler.terminal')]: true });
      },
    ],
  ])('S2 should run once more for events from inside a run that %s', (_, end) => {
    let runs = 0;
    const rig: Rig = new Rig((id, context) => {
      if (++runs > 1) return;
      rig.trigger('a', 'a', 'a');
      return end(id, context);
    });
    rig.trigger('a');
    rig.clock.advance(15);
    expect(runs).toBe(2);
  });

  test('S2 should count an event that an observer sends at the start of a run as one during it', () => {
    let runs = 0;
    const rig: Rig = new Rig(
      () => {
        runs++;
      },
      {},
      ({ kind }, { events }) => {
        if (kind === 'started' && runs === 0) events.next('a');
      },
    );
    rig.trigger('a');
    expect(rig.told()).toEqual(['enqueued a', 'started a', 'merged a', 'succeeded a', 'enqueued a', 'started a', 'succeeded a']);
  });
});

describe('S3: an id that is ready or waiting is there once', () => {
  test(
    'S3 should add no run for events on a ready id',
    marbles(({ hot, cold, scheduler, expectSteps }) => {
      const source = hot('     abb-b---|');
      const run = cold('       -----|');
      expectSteps(source.pipe(reconcile(() => run.pipe(ignoreElements()), { scheduler }))).toBeExactly({
        enqueued: '            ab-------',
        started: '             a----b---',
        succeeded: '           -----a----b',
        merged: '              --b-b----',
        ends: '                ----------|',
      });
    }),
  );

  test(
    'S3 should let an event on a waiting id consume its wake-up',
    marbles(({ hot, scheduler, expectSteps }) => {
      let runs = 0;
      const reconciler: Reconciler = () => (++runs === 1 ? { requeueDelay: 10 } : undefined);
      const source = hot('     a--a-------------|');
      expectSteps(source.pipe(reconcile(reconciler, { scheduler, delayResolution: 1 }))).toBeExactly({
        enqueued: '            a--a',
        started: '             a--a',
        requeued: '            a---',
        succeeded: '           ---a',
        ends: '                -----------------|',
      });
    }),
  );

  test('S3 should not run a ready id again for an event that comes while the step of the run before it is delivered', () => {
    const ran: string[] = [];
    const rig: Rig = new Rig(
      (id) => {
        ran.push(id);
        if (id === 'go') rig.trigger('a', 'b');
      },
      {},
      ({ kind, id }, { events }) => {
        if (kind === 'succeeded' && id === 'a') events.next('b');
      },
    );
    rig.trigger('go');
    expect(ran).toEqual(['go', 'a', 'b']);
    expect(rig.told('merged')).toEqual(['merged b']);
  });

  test('S3 should run an id that waits after a failure early at most once for any number of events', () => {
    let runs = 0;
    const rig: Rig = new Rig(
      () => {
        if (++runs === 1) throw new Error('no');
      },
      { backoff: () => 100 },
    );
    rig.trigger('a');
    for (let i = 0; i < 9; i++) {
      rig.clock.advance(1);
      rig.trigger('a');
    }
    rig.clock.advance(500);
    expect(runs).toBe(2);
  });
});

describe('S4: a dirty id rejoins at the end', () => {
  test(
    'S4 should run the ids that became ready meanwhile before a dirty one',
    marbles(({ hot, cold, scheduler, expectSteps }) => {
      const source = hot('     abac----|');
      const run = cold('       ---|');
      expectSteps(source.pipe(reconcile(() => run.pipe(ignoreElements()), { scheduler }))).toBeExactly({
        //                     a..b..c..a..
        enqueued: '            ab-(ca)',
        started: '             a--b--c--a',
        succeeded: '           ---a--b--c--a',
        merged: '              --a------',
        ends: '                ------------|',
      });
    }),
  );

  test('S4 should let a reconciler that always triggers its own id not starve the others', () => {
    const ran: string[] = [];
    const rig: Rig = new Rig((id) => {
      ran.push(id);
      if (ran.length === 1) rig.trigger('b', 'c');
      if (id === 'a' && ran.length < 8) rig.trigger('a');
      else if (ran.length < 8) rig.trigger(id);
    });
    rig.trigger('a');
    expect(ran.slice(0, 7).join('')).toBe('abcabca');
  });
});

describe('S5: lanes are independent', () => {
  const byLetter = (id: string): number => (id < 'm' ? 0 : 1);

  test(
    'S5 should not let a run in one lane hold up another lane',
    marbles(({ hot, cold, scheduler, expectSteps }) => {
      const source = hot('     axby----|');
      const long = cold('      ---------|');
      const short = cold('      -|');
      const reconciler: Reconciler = (id) => (id < 'm' ? long : short).pipe(ignoreElements());
      expectSteps(source.pipe(reconcile(reconciler, { scheduler, workerCount: 2, workerHasher: byLetter }))).toBeExactly({
        enqueued: '            axby',
        started: '             ax-y-----b',
        succeeded: '           --x-y----a--------b',
        ends: '                ------------------|',
      });
    }),
  );

  test('S5 should not let a lane that is full, hung and abandoned touch another', async () => {
    const rig: Rig = new Rig((id) => (id < 'm' ? new Promise<void>(() => {}) : undefined), {
      workerCount: 2,
      workerHasher: byLetter,
      workerQueueSize: 1,
      maxReconcileTime: 0,
    });
    rig.trigger('a', 'b', 'c', 'x', 'y');
    await rig.clock.pass(100);
    expect(rig.told('rejected')).toEqual(['rejected c full']);
    expect(rig.told('succeeded')).toEqual(['succeeded x', 'succeeded y']);
    expect(rig.steps.filter(({ id }) => id > 'm').every(({ worker }) => worker === 1)).toBe(true);
  });

  test('S5 should let lanes feed each other, in any depth, without overflow', () => {
    let left = 20_000;
    const rig: Rig = new Rig(
      (id) => {
        if (left-- > 0) rig.trigger(id === 'a' ? 'x' : 'a');
      },
      { workerCount: 2, workerHasher: byLetter },
    );
    rig.trigger('a');
    expect(rig.told('succeeded')).toHaveLength(20_001);
    expect(rig.left).toEqual({ ids: 0, timers: 0 });
  });

  test('S5 should run one lane while the promise of another is pending, and both in their own order', async () => {
    const work: Record<string, Deferred<void>> = {};
    const rig: Rig = new Rig((id) => (work[id] = deferred()).promise, { workerCount: 2, workerHasher: byLetter });
    rig.trigger('a', 'b', 'x', 'y');
    expect(Object.keys(work)).toEqual(['a', 'x']);
    work['x']!.resolve();
    await rig.clock.pass(0);
    expect(Object.keys(work)).toEqual(['a', 'x', 'y']);
    work['a']!.resolve();
    await rig.clock.pass(0);
    expect(Object.keys(work)).toEqual(['a', 'x', 'y', 'b']);
  });

  test('S5 should keep the lanes of two subscriptions apart (B4)', () => {
    const source = new Subject<string>();
    const steps: Step[][] = [[], []];
    const loop = source.pipe(reconcile(() => from([undefined])));
    const subscriptions = steps.map((to) => loop.pipe(ofKind('succeeded')).subscribe((step) => to.push(step)));
    source.next('a');
    subscriptions[0]!.unsubscribe();
    source.next('b');
    expect(steps.map((all) => all.map(inWords))).toEqual([['succeeded a'], ['succeeded a', 'succeeded b']]);
    subscriptions[1]!.unsubscribe();
  });
});
