import { type Reconciler, reconcile, type Step, TerminalError } from 'kreconciler/operators';
import { marbles } from 'kreconciler/testing';
import { concat, EMPTY, finalize, from, generate, ignoreElements, NEVER, Observable, of, take, takeWhile, throwError, timer } from 'rxjs';
import { describe, expect, it, test } from 'vitest';
import { checkAccounting } from '../../support/accounting.js';
import { deferred } from '../../support/deferred.js';
import { NOTHING_LEFT, Rig } from '../../support/rig.js';

const fails = (): never => {
  throw new Error('no');
};
const slow =
  (ms: number, then: Observable<undefined | { requeueDelay: number }> = EMPTY): Reconciler =>
  () =>
    concat(timer(ms, Rig.current.clock).pipe(ignoreElements()), then);

describe('P1: the sources complete', () => {
  test(
    'P1 should drain what is ready, running and waiting, and then complete',
    marbles(({ hot, cold, scheduler, expectSteps }) => {
      const run = cold('       ----|');
      let failed = false;
      const reconciler: Reconciler = (id) => {
        if (id !== 'f' || failed) return run.pipe(ignoreElements());
        failed = true;
        return fails();
      };
      const source = hot('     f-ab|');
      expectSteps(source.pipe(reconcile(reconciler, { scheduler, delayResolution: 5, backoff: () => 15 }))).toBeExactly({
        enqueued: '            f-ab-----------f',
        started: '             f-a---b--------f',
        requeued: '            f',
        succeeded: '           ------a---b--------f',
        ends: '                -------------------|',
      });
    }),
  );

  test('P1 should complete at once if nothing is left', () => {
    const rig: Rig = new Rig(() => undefined);
    rig.trigger('a');
    rig.events.complete();
    expect(rig.end).toBe('completed');
  });

  test('P1 should go on for as long as an id polls', () => {
    const rig: Rig = new Rig((_, { reason }) => (reason === 'event' || rig.starts().length < 20 ? { requeueDelay: 100 } : undefined), {
      shutdownGrace: 10,
    });
    rig.trigger('a');
    rig.events.complete();
    rig.clock.advance(1899);
    expect(rig.end).toBeUndefined();
    rig.clock.advance(1);
    expect(rig.end).toBe('completed');
  });

  test('P1 should wait for an abandoned id at most for shutdownGrace, then drop what it had left to do', async () => {
    const rig: Rig = new Rig(() => new Promise(() => {}), { maxReconcileTime: 15, shutdownGrace: 50 });
    rig.trigger('a');
    rig.events.complete();
    await rig.clock.pass(64);
    expect(rig.end).toBeUndefined();
    await rig.clock.pass(1);
    expect(rig.end).toBe('completed');
    expect(rig.told()).toEqual(['enqueued a', 'started a', 'requeued a', 'abandoned a', 'dropped a stopped']);
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  test('P1 should drop nothing at the end of the grace for an abandoned id that had no work left', async () => {
    const rig: Rig = new Rig(() => new Promise(() => {}), { maxReconcileTime: 15, shutdownGrace: 50, maxItemRetries: 0 });
    rig.trigger('a');
    rig.events.complete();
    await rig.clock.pass(100);
    expect(rig.end).toBe('completed');
    expect(rig.told()).toEqual(['enqueued a', 'started a', 'dropped a retries', 'abandoned a']);
  });

  test('P1 should tell both steps of a mark that an abandoned id leaves behind', async () => {
    const rig: Rig = new Rig(() => new Promise(() => {}), { maxReconcileTime: 15, shutdownGrace: 50, maxItemRetries: 0 });
    rig.trigger('a');
    await rig.clock.pass(20);
    rig.trigger('a');
    rig.events.complete();
    await rig.clock.pass(100);
    expect(rig.end).toBe('completed');
    expect(rig.told().slice(4)).toEqual(['merged a', 'enqueued a', 'dropped a stopped']);
  });

  test('P1 should complete as soon as the last abandoned promise has settled', async () => {
    const work = deferred();
    const rig: Rig = new Rig(() => work.promise, { maxReconcileTime: 15, shutdownGrace: 50, maxItemRetries: 0 });
    rig.trigger('a');
    rig.events.complete();
    await rig.clock.pass(30);
    work.resolve();
    await rig.clock.pass(0);
    expect(rig.end).toBe('completed');
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  test('P1 should not let the grace of an abandoned id cut the run short that follows its release', async () => {
    const rig: Rig = new Rig(
      () => new Promise<void>((resolve) => rig.clock.schedule(() => resolve(), rig.starts().length === 1 ? 60 : 14)),
      {
        maxReconcileTime: 15,
        shutdownGrace: 50,
      },
    );
    rig.trigger('a');
    rig.events.complete();
    await rig.clock.pass(200);
    // Abandoned at 15, released at 60, and then in time: it ends at 74, after the grace would have.
    expect(rig.told()).toEqual([
      'enqueued a',
      'started a',
      'requeued a',
      'abandoned a',
      'released a',
      'enqueued a',
      'started a',
      'succeeded a',
    ]);
    expect(rig.end).toBe('completed');
  });

  test('P1 should not cut a lane short for the abandoned ids of it while others are waiting', async () => {
    const rig: Rig = new Rig(
      (id) => (id === 'a' ? new Promise(() => {}) : rig.starts('p').length < 5 ? { requeueDelay: 100 } : undefined),
      {
        maxReconcileTime: 15,
        shutdownGrace: 50,
        maxItemRetries: 0,
      },
    );
    rig.trigger('a', 'p');
    rig.events.complete();
    await rig.clock.pass(1000);
    expect(rig.starts('p')).toHaveLength(5);
    expect(rig.end).toBe('completed');
  });

  test('P1 should wait for all lanes', () => {
    const rig: Rig = new Rig((id) => timer(Number(id) * 10, rig.clock).pipe(ignoreElements()), {
      workerCount: 3,
      workerHasher: (id) => Number(id),
    });
    rig.trigger('0', '1', '2');
    rig.events.complete();
    rig.clock.advance(19);
    expect(rig.end).toBeUndefined();
    rig.clock.advance(1);
    expect(rig.end).toBe('completed');
  });
});

describe('P2: stop fires', () => {
  test(
    'P2 should let go of the source, drop what is ready and waiting, let the running one finish, and complete',
    marbles(({ hot, cold, scheduler, expectSteps, expectSubscriptions }) => {
      const run = cold('       ------|');
      const reconciler: Reconciler = (id) => (id === 'w' ? { requeueDelay: 50 } : run.pipe(ignoreElements()));
      const source = hot('     wabc--d');
      const stop = hot('       -----x');
      expectSteps(source.pipe(reconcile(reconciler, { scheduler, stop }))).toBeExactly({
        enqueued: '            wabc',
        started: '             wa',
        requeued: '            w',
        dropped: '             -----(bcw)',
        succeeded: '           -------a',
        ends: '                -------|',
      });
      expectSubscriptions(source.subscriptions).toBe('^----!');
    }),
  );

  test('P2 should let go of the sources before it drops anything', () => {
    const log: string[] = [];
    const rig: Rig = new Rig(
      slow(10),
      {},
      ({ kind, id }) => log.push(`${kind} ${id}`),
      new Observable((subscriber) => {
        subscriber.next('a');
        subscriber.next('b');
        return () => log.push('let go');
      }),
    );
    rig.stop.next();
    expect(log).toEqual(['enqueued a', 'started a', 'enqueued b', 'let go', 'dropped b']);
  });

  const ways: [string, Reconciler, string[]][] = [
    ['succeeds', slow(10), ['succeeded a']],
    ['asks for a requeue', slow(10, of({ requeueDelay: 5 })), ['succeeded a']],
    [
      'fails',
      slow(
        10,
        throwError(() => new Error('no')),
      ),
      ['dropped a stopped'],
    ],
    [
      'is terminal',
      slow(
        10,
        throwError(() => new TerminalError('no')),
      ),
      ['dropped a stopped'],
    ],
  ];
  it.each(ways)('P2 should tell how a running id ends that %s while stopping', (_, reconciler, told) => {
    const rig: Rig = new Rig(reconciler);
    rig.trigger('a');
    rig.stop.next();
    rig.clock.advance(100);
    expect(rig.told().slice(2)).toEqual(told);
    const last = rig.steps.at(-1)!;
    expect('error' in last).toBe(last.kind === 'dropped');
    if (last.kind === 'dropped') expect(last).toMatchObject({ failure: 'thrown', took: 10, attempt: 1 });
    expect(rig.end).toBe('completed');
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  it.each(ways)('P2 should give a dirty mark its two steps after a run that %s while stopping', (_, reconciler, told) => {
    const rig: Rig = new Rig(reconciler);
    rig.trigger('a', 'a');
    rig.stop.next();
    rig.clock.advance(100);
    expect(rig.told().slice(3)).toEqual([...told, 'enqueued a', 'dropped a stopped']);
    expect(rig.end).toBe('completed');
  });

  test('P2 should abort the signal of a run that goes beyond shutdownGrace, and give it up', async () => {
    let signal: AbortSignal | undefined;
    const rig: Rig = new Rig(
      (_, context) => {
        signal = context.signal;
        return new Promise(() => {});
      },
      { shutdownGrace: 50 },
    );
    rig.trigger('a', 'a');
    rig.stop.next();
    await rig.clock.pass(49);
    expect(signal?.aborted).toBe(false);
    await rig.clock.pass(1);
    expect(signal?.reason).toMatchObject({ name: 'AbortError' });
    expect(rig.told().slice(3)).toEqual(['dropped a stopped', 'enqueued a', 'dropped a stopped']);
    expect(rig.end).toBe('completed');
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  test(
    'P2 should unsubscribe an Observable that goes beyond shutdownGrace',
    marbles(({ hot, cold, scheduler, expectSteps, expectSubscriptions }) => {
      const run = cold('       ---------------|');
      const source = hot('     -a');
      const stop = hot('       ---x');
      expectSteps(source.pipe(reconcile(() => run.pipe(ignoreElements()), { scheduler, stop, shutdownGrace: 5 }))).toBeExactly({
        enqueued: '            -a',
        started: '             -a',
        dropped: '             --------a',
        ends: '                --------|',
      });
      expectSubscriptions(run.subscriptions).toBe('-^------!');
    }),
  );

  test('P2 should time a run out while stopping as ever, and then wait for its promise at most for the grace', async () => {
    const rig: Rig = new Rig(() => new Promise(() => {}), { shutdownGrace: 50, maxReconcileTime: 15 });
    rig.trigger('a');
    rig.stop.next();
    await rig.clock.pass(20);
    expect(rig.steps.at(-2)).toMatchObject({ kind: 'dropped', reason: 'stopped', failure: 'timeout' });
    expect(rig.told('abandoned')).toEqual(['abandoned a']);
    expect(rig.end).toBeUndefined();
    await rig.clock.pass(30);
    expect(rig.end).toBe('completed');
  });

  test('P2 should wait for ever with a grace of Infinity, and not at all with one of 0', async () => {
    for (const [shutdownGrace, end] of [
      [Infinity, undefined],
      [0, 'completed'],
    ] as const) {
      const rig: Rig = new Rig(() => new Promise(() => {}), { shutdownGrace, maxReconcileTime: 0 });
      rig.trigger('a');
      rig.stop.next();
      await rig.clock.pass(1_000_000);
      expect(rig.end).toBe(end);
    }
  });

  test('P2 should drop an id that waits for its retry, is under embargo, or cools after being dropped dirty', () => {
    const rig: Rig = new Rig((id) => {
      if (id === 'c') {
        rig.trigger('c');
        throw new TerminalError('no');
      }
      return fails();
    });
    rig.trigger('w', 'e', 'c');
    rig.trigger('e');
    rig.stop.next();
    expect(rig.told().slice(-4).sort()).toEqual(['dropped c stopped', 'dropped e stopped', 'dropped w stopped', 'enqueued c']);
    expect(rig.end).toBe('completed');
    checkAccounting(rig.steps);
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  it.each<[string, () => Observable<unknown>]>([
    ['has fired already', () => of(1)],
    ['is an array', () => from([1, 2, 3])],
  ])('P2 should not even subscribe to the source if stop %s', (_, stop) => {
    let subscribed = false;
    const source = new Observable<string>(() => {
      subscribed = true;
    });
    const rig: Rig = new Rig(
      () => undefined,
      { stop: stop() },
      () => {},
      source,
    );
    expect(rig.end).toBe('completed');
    expect(subscribed).toBe(false);
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  test('P2 should stop with a promise and with an async iterable', async () => {
    const work = deferred();
    const rig: Rig = new Rig(() => ({ requeueDelay: 1000 }), { stop: work.promise });
    rig.trigger('a');
    work.resolve();
    await rig.clock.pass(0);
    expect(rig.end).toBe('completed');

    const other = new Rig(() => ({ requeueDelay: 1000 }), {
      stop: (async function* () {
        yield 1;
      })(),
    });
    other.trigger('a');
    await other.clock.pass(0);
    expect(other.end).toBe('completed');
  });

  test('P2 should not stop because the notifier completes', () => {
    const rig: Rig = new Rig(() => undefined, { stop: EMPTY });
    rig.trigger('a');
    expect(rig.end).toBeUndefined();
    expect(rig.told('succeeded')).toEqual(['succeeded a']);
  });

  test('P2 should stop only once, however often the notifier fires', () => {
    const rig: Rig = new Rig(slow(10));
    rig.trigger('a', 'b');
    rig.stop.next();
    rig.stop.next();
    rig.clock.advance(5);
    rig.stop.next();
    rig.clock.advance(5);
    expect(rig.told('dropped')).toEqual(['dropped b stopped']);
    expect(rig.end).toBe('completed');
  });

  test('P2 should stop a loop that is draining', () => {
    const rig: Rig = new Rig(() => ({ requeueDelay: 1000 }));
    rig.trigger('a', 'b');
    rig.events.complete();
    rig.clock.advance(5);
    expect(rig.end).toBeUndefined();
    rig.stop.next();
    expect(rig.end).toBe('completed');
    expect(rig.told('dropped')).toEqual(['dropped a stopped', 'dropped b stopped']);
  });

  it.each(['enqueued', 'started', 'requeued', 'merged', 'rejected'] as const)(
    'P2 should stop in good order from inside the delivery of `%s`',
    (kind) => {
      const rig: Rig = new Rig(
        (id, { attempt }) => {
          if (id === 'a' && attempt === 1) {
            rig.trigger('a', '');
            fails();
          }
        },
        {},
        (step, { stop }) => {
          if (step.kind === kind) stop.next();
        },
      );
      rig.trigger('a', 'b');
      rig.clock.advance(1000);
      expect(rig.end).toBe('completed');
      checkAccounting(rig.steps);
      expect(rig.left).toEqual(NOTHING_LEFT);
    },
  );

  test('P2 should let the run that stops the loop finish', () => {
    const rig: Rig = new Rig((id) => {
      if (id === 'a') rig.stop.next();
    });
    rig.trigger('a');
    expect(rig.told()).toEqual(['enqueued a', 'started a', 'succeeded a']);
    expect(rig.end).toBe('completed');
  });
});

describe('P3: unsubscribe', () => {
  test('P3 should cut all off at once: no timer, no signal, no step is left', async () => {
    let signal: AbortSignal | undefined;
    let torn = false;
    const rig: Rig = new Rig(
      (id, context) => {
        if (id === 'w') return { requeueDelay: 1000 };
        if (id === 'f') return fails();
        if (id === 'o') return NEVER.pipe(finalize(() => (torn = true)));
        signal = context.signal;
        return new Promise(() => {});
      },
      { workerCount: 2, workerHasher: (id) => (id === 'o' ? 1 : 0) },
    );
    rig.trigger('w', 'f', 'o', 'p', 'r');
    expect(rig.clock.timers).toBeGreaterThan(0);
    const { length } = rig.steps;
    rig.subscription.unsubscribe();
    expect(rig.clock.timers).toBe(0);
    expect(signal?.reason).toMatchObject({ name: 'AbortError' });
    expect(torn).toBe(true);
    expect(rig.events.observed).toBe(false);
    expect(rig.stop.observed).toBe(false);
    expect(rig.reset.observed).toBe(false);
    await rig.clock.pass(10_000);
    expect(rig.steps).toHaveLength(length);
    expect(rig.end).toBeUndefined();
  });

  test('P3 should ignore a promise that settles after the unsubscription', async () => {
    for (const settle of ['resolve', 'reject'] as const) {
      const work = deferred();
      const rig: Rig = new Rig(() => work.promise, { maxReconcileTime: 10 });
      rig.trigger('a');
      if (settle === 'reject') await rig.clock.pass(15);
      rig.subscription.unsubscribe();
      work[settle](undefined);
      await rig.clock.pass(100);
      expect(rig.told('released', 'succeeded')).toEqual([]);
    }
  });

  const kinds = ['enqueued', 'started', 'merged', 'succeeded', 'requeued', 'rejected', 'dropped'] as const;
  it.each(kinds)('P3 should run nothing more once it was unsubscribed from inside the delivery of `%s`', (kind) => {
    let runs = 0;
    let then = -1;
    const rig: Rig = new Rig(
      (id, { attempt }) => {
        runs++;
        if (id === 'b') throw new TerminalError('no');
        if (attempt > 1) return;
        rig.trigger('c', 'b', 'c', '');
        fails();
      },
      {},
      (step, { subscription }) => {
        if (step.kind !== kind || then >= 0) return;
        then = runs;
        subscription.unsubscribe();
      },
    );
    rig.trigger('a', 'd');
    rig.clock.advance(100);
    expect(then).toBeGreaterThanOrEqual(0);
    expect(runs).toBe(then);
    expect(rig.clock.timers).toBe(0);
  });

  test('P3 should end a loop whose source emits while it is subscribed to', () => {
    let runs = 0;
    const endless = generate({ initialState: 0, iterate: (i) => i + 1, resultSelector: String });
    const steps: Step[] = [];
    endless
      .pipe(
        reconcile(() => {
          runs++;
        }),
        take(7),
      )
      .subscribe((step) => steps.push(step));
    expect(steps).toHaveLength(7);
    expect(runs).toBeLessThanOrEqual(3);

    runs = 0;
    endless
      .pipe(
        reconcile(() => {
          runs++;
        }),
        takeWhile(({ kind }) => kind !== 'started'),
      )
      .subscribe();
    expect(runs).toBe(0);
  });

  test('P3 should let a reconciler unsubscribe the loop it is in', () => {
    const rig: Rig = new Rig(() => rig.subscription.unsubscribe());
    rig.trigger('a', 'b');
    expect(rig.told()).toEqual(['enqueued a', 'started a']);
    expect(rig.clock.timers).toBe(0);
  });
});

describe('P4: a source that errors', () => {
  test(
    'P4 should stop in good order, and then error',
    marbles(({ hot, cold, scheduler, expectSteps }) => {
      const run = cold('       ------|');
      const source = hot('     -abc#');
      expectSteps(source.pipe(reconcile(() => run.pipe(ignoreElements()), { scheduler }))).toBeExactly({
        enqueued: '            -abc',
        started: '             -a',
        dropped: '             ----(bc)',
        succeeded: '           -------a',
        ends: '                -------#',
      });
    }),
  );

  it.each<[string, (error: unknown) => Partial<Record<'source' | 'stop' | 'reset', Observable<string>>>]>([
    [
      'the source',
      (error) => ({
        source: concat(
          of('a'),
          throwError(() => error),
        ),
      }),
    ],
    ['the source before any event', (error) => ({ source: throwError(() => error) })],
    ['stop', (error) => ({ stop: throwError(() => error), source: of('a') })],
    ['reset', (error) => ({ reset: throwError(() => error), source: of('a') })],
  ])('P4 should error with what %s errors with synchronously', (_, broken) => {
    for (const error of [new Error('no'), undefined, null]) {
      const { source, ...notifiers } = broken(error);
      const rig: Rig = new Rig(
        () => ({ requeueDelay: 10 }),
        notifiers,
        () => {},
        source,
      );
      rig.clock.advance(100);
      expect(rig.end).toEqual({ error });
      checkAccounting(rig.steps);
      expect(rig.left).toEqual(NOTHING_LEFT);
    }
  });

  it.each(['events', 'stop', 'reset'] as const)('P4 should stop, and then error, when `%s` errors while ids run and wait', (which) => {
    const error = new Error('no');
    const rig: Rig = new Rig((id, context) => (id === 'w' ? { requeueDelay: 1000 } : slow(10)(id, context)), {
      workerCount: 2,
      workerHasher: (id) => (id < 'm' ? 0 : 1),
    });
    rig.trigger('w', 'a', 'b', 'x', 'y');
    rig[which].error(error);
    expect(rig.end).toBeUndefined();
    rig.trigger('z');
    rig.clock.advance(10);
    expect(rig.end).toEqual({ error });
    expect(rig.told('succeeded', 'dropped').sort()).toEqual([
      'dropped b stopped',
      'dropped w stopped',
      'dropped y stopped',
      'succeeded a',
      'succeeded x',
    ]);
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  it.each(['stop', 'reset'] as const)('P4 should stop, and then error, when `%s` errors while the loop is draining', (which) => {
    const rig: Rig = new Rig(() => ({ requeueDelay: 1000 }));
    rig.trigger('a');
    rig.events.complete();
    rig[which].error(new Error('no'));
    expect(rig.end).toMatchObject({ error: { message: 'no' } });
  });

  test('P4 should tell the first of several errors', () => {
    const rig: Rig = new Rig(slow(10));
    rig.trigger('a');
    rig.events.error(new Error('first'));
    rig.reset.error(new Error('second'));
    rig.clock.advance(10);
    expect(rig.end).toMatchObject({ error: { message: 'first' } });
  });

  test('P4 should error after a stop if the reset notifier fails while a run finishes', () => {
    const rig: Rig = new Rig(slow(10));
    rig.trigger('a');
    rig.stop.next();
    rig.reset.error(new Error('no'));
    rig.clock.advance(10);
    expect(rig.end).toMatchObject({ error: { message: 'no' } });
    expect(rig.told('succeeded')).toEqual(['succeeded a']);
  });
});

describe('P5: stopping is not failure', () => {
  test('P5 should not count a run that ends by its aborted signal as failed, nor retry it', async () => {
    const rig: Rig = new Rig(
      (_, { signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
      { shutdownGrace: 20 },
    );
    rig.trigger('a');
    rig.stop.next();
    await rig.clock.pass(100);
    expect(rig.told()).toEqual(['enqueued a', 'started a', 'dropped a stopped']);
    expect(rig.steps.at(-1)).not.toHaveProperty('failure');
    expect(rig.steps.at(-1)).not.toHaveProperty('error');
    expect(rig.end).toBe('completed');
  });
});
