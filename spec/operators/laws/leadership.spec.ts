import { type Reconciler, reconcile, TerminalError } from 'kreconciler/operators';
import { marbles } from 'kreconciler/testing';
import { EMPTY, finalize, from, ignoreElements, NEVER, Observable, of, timer } from 'rxjs';
import { describe, expect, it, test } from 'vitest';
import { checkAccounting } from '../../support/accounting.js';
import { type Deferred, deferred } from '../../support/deferred.js';
import { NOTHING_LEFT, Rig } from '../../support/rig.js';

const fails = (): never => {
  throw new Error('no');
};

describe('L7: reset ends a term', () => {
  test(
    'L7 should cut off what runs, drop what is ready and waiting (L2), and go on empty',
    marbles(({ hot, cold, scheduler, expectSteps, expectSubscriptions }) => {
      const run = cold('       -----------|');
      const reconciler: Reconciler = (id) => (id === 'w' ? { requeueDelay: 50 } : id === 'z' ? undefined : run.pipe(ignoreElements()));
      const source = hot('     wabb--az--|');
      const reset = hot('      ----x');
      expectSteps(source.pipe(reconcile(reconciler, { scheduler, reset }))).toBeExactly({
        enqueued: '            wab---az',
        started: '             wa----a----------z',
        merged: '              ---b',
        requeued: '            w',
        dropped: '             ----(bwa)',
        succeeded: '           -----------------(az)',
        ends: '                -----------------|',
      });
      expectSubscriptions(run.subscriptions).toBe(['-^--!', '------^----------!']);
    }),
  );

  test('L7 should abort the signal of the running id at once', () => {
    let signal: AbortSignal | undefined;
    const rig: Rig = new Rig((_, context) => {
      signal = context.signal;
      return NEVER;
    });
    rig.trigger('a');
    rig.reset.next();
    expect(signal?.reason).toMatchObject({ name: 'AbortError' });
  });

  test('L7 should tell the end of the running id without a failure, and its mark by two steps', () => {
    const rig: Rig = new Rig(() => NEVER);
    rig.trigger('a', 'a');
    rig.clock.advance(7);
    rig.reset.next();
    expect(rig.told().slice(3)).toEqual(['dropped a stopped', 'enqueued a', 'dropped a stopped']);
    expect(rig.steps[3]).toMatchObject({ took: 7, attempt: 1 });
    expect(rig.steps[3]).not.toHaveProperty('failure');
    checkAccounting(rig.steps);
    rig.clock.advance(20);
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  it.each<[string, Reconciler]>([
    ['waits for a retry', fails],
    ['waits for a requeue', () => ({ requeueDelay: 1000 })],
    [
      'cools after being dropped dirty',
      () => {
        Rig.current.trigger('a');
        throw new TerminalError('no');
      },
    ],
  ])('L7 should forget an id that %s: its next event starts it afresh, with no embargo', (_, reconciler) => {
    let armed = true;
    const rig: Rig = new Rig((id, context) => (armed ? reconciler(id, context) : undefined));
    rig.trigger('a');
    rig.reset.next();
    expect(rig.left).toEqual(NOTHING_LEFT);
    armed = false;
    rig.trigger('a');
    expect(rig.steps.at(-2)).toMatchObject({ kind: 'started', attempt: 1, at: 0 });
    checkAccounting(rig.steps);
  });

  test('L7 should keep an unsettled promise abandoned over any number of terms (S1)', async () => {
    const open: Deferred<void>[] = [];
    const rig: Rig = new Rig(() => {
      open.push(deferred());
      return open.at(-1)!.promise;
    });
    rig.trigger('a');
    for (let term = 0; term < 5; term++) {
      rig.reset.next();
      rig.trigger('a');
      await rig.clock.pass(100);
      expect(open).toHaveLength(1);
    }
    open[0]!.resolve();
    await rig.clock.pass(0);
    expect(open).toHaveLength(2);
    checkAccounting(rig.steps, undefined, false);

    open[1]!.resolve();
    await rig.clock.pass(0);
    checkAccounting(rig.steps);
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  test('L7 should not serve an event of the term before once the promise has settled', async () => {
    const work = deferred();
    const rig: Rig = new Rig(() => work.promise);
    rig.trigger('a');
    rig.reset.next();
    rig.trigger('a');
    rig.reset.next();
    work.resolve();
    await rig.clock.pass(100);
    expect(rig.starts()).toEqual([0]);
    expect(rig.told()).toEqual([
      'enqueued a',
      'started a',
      'dropped a stopped',
      'abandoned a',
      'merged a',
      'enqueued a',
      'dropped a stopped',
      'released a',
    ]);
  });

  test('L7 should drop the retry of an id that was abandoned by its timeout', async () => {
    const work = deferred();
    const rig: Rig = new Rig(() => (rig.starts().length === 1 ? work.promise : undefined), { maxReconcileTime: 15 });
    rig.trigger('a');
    await rig.clock.pass(20);
    rig.reset.next();
    work.resolve();
    await rig.clock.pass(1000);
    expect(rig.told()).toEqual(['enqueued a', 'started a', 'requeued a', 'abandoned a', 'dropped a stopped', 'released a']);
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  it.each<[string, () => Observable<unknown> | Promise<void> | unknown[]]>([
    ['a timer', () => timer(100, Rig.current.clock)],
    ['a promise', () => Promise.resolve()],
    ['an array', () => [1, 2, 3]],
    ['nothing', () => EMPTY],
  ])('L7 should not end a term again for a lane that is born after its notifier, %s, has completed', async (_, reset) => {
    const rig: Rig = new Rig(() => timer(200, rig.clock).pipe(ignoreElements()), {
      workerCount: 2,
      workerHasher: (id) => Number(id),
      reset: new Observable((subscriber) => from(reset()).subscribe(subscriber)),
    });
    rig.trigger('0');
    await rig.clock.pass(150);
    rig.trigger('1');
    await rig.clock.pass(1000);
    expect(rig.told('succeeded')).toContain('succeeded 1');
  });

  test('L7 should subscribe to its notifier once, however many lanes there are', () => {
    let subscriptions = 0;
    const reset = new Observable(() => {
      subscriptions++;
    });
    const rig: Rig = new Rig(() => undefined, { reset, workerCount: 8 });
    for (let i = 0; i < 50; i++) rig.trigger(`${i}`);
    expect(subscriptions).toBe(1);
  });

  test('L7 should let a loop that drains complete when a reset leaves nothing', () => {
    const rig: Rig = new Rig(() => ({ requeueDelay: 1000 }));
    rig.trigger('a', 'b');
    rig.events.complete();
    rig.reset.next();
    expect(rig.end).toBe('completed');
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  test('L7 should wait for what it abandoned in a loop that drains, at most for shutdownGrace', async () => {
    const rig: Rig = new Rig(() => new Promise(() => {}), { shutdownGrace: 50 });
    rig.trigger('a');
    rig.events.complete();
    rig.reset.next();
    await rig.clock.pass(49);
    expect(rig.end).toBeUndefined();
    await rig.clock.pass(1);
    expect(rig.end).toBe('completed');
  });

  test('L7 should cut off the runs that a stop lets finish', async () => {
    const rig: Rig = new Rig(() => NEVER);
    rig.trigger('a');
    rig.stop.next();
    rig.reset.next();
    expect(rig.told()).toEqual(['enqueued a', 'started a', 'dropped a stopped']);
    expect(rig.end).toBe('completed');
  });
});

describe('L7: reset from within', () => {
  const kinds = ['enqueued', 'started', 'merged', 'succeeded', 'requeued', 'rejected', 'dropped', 'abandoned', 'released'] as const;
  it.each(kinds)('L7 should reset in good order from inside the delivery of `%s`', async (kind) => {
    let resets = 0;
    const rig: Rig = new Rig(
      (id, { attempt }) => {
        if (id === 'h') return new Promise<void>((resolve) => rig.clock.schedule(() => resolve(), 50));
        if (id !== 'a' || attempt > 1) return undefined;
        rig.trigger('a', 'b', 'c', 'b', '');
        return fails();
      },
      { maxReconcileTime: 15, maxItemRetries: 1 },
      (step, { reset }) => {
        if (step.kind === kind && resets++ < 3) reset.next();
      },
    );
    rig.trigger('a', 'h', 'd');
    await rig.clock.pass(1000);
    expect(resets).toBeGreaterThan(0);
    rig.trigger('e');
    expect(rig.told().at(-1)).toBe('succeeded e');
    rig.events.complete();
    await rig.clock.pass(1000);
    expect(rig.end).toBe('completed');
    checkAccounting(rig.steps);
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  it.each<[string, () => ReturnType<Reconciler>]>([
    ['nothing', () => undefined],
    ['a result', () => ({ requeueDelay: 50 })],
    ['a failure', fails],
    ['an Observable', () => of(undefined)],
    ['an Observable that takes its time', () => timer(50, Rig.current.clock).pipe(ignoreElements())],
    [
      'an Observable whose teardown throws',
      () =>
        new Observable<undefined>(() => () => {
          throw new Error('teardown');
        }),
    ],
    ['an iterable', () => [undefined]],
    ['a promise', () => Promise.resolve()],
    ['a rejection', () => Promise.reject(new Error('no'))],
    [
      'an async iterable',
      () =>
        (async function* () {
          yield undefined;
        })(),
    ],
    ['an odd value', () => 'odd' as unknown as undefined],
  ])('L7 should reset from inside the reconciler, whatever that answers then: %s', async (_, answer) => {
    const rig: Rig = new Rig((id) => {
      if (id !== 'r') return;
      rig.reset.next();
      return answer();
    });
    rig.trigger('r');
    await rig.clock.pass(100);
    expect(rig.told()).toEqual(['enqueued r', 'started r', 'dropped r stopped', 'abandoned r', 'released r']);
    rig.trigger('z');
    expect(rig.told().at(-1)).toBe('succeeded z');
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  it.each<[string, () => Observable<undefined>]>([
    [
      'completes',
      () =>
        new Observable((subscriber) => {
          Rig.current.reset.next();
          subscriber.complete();
        }),
    ],
    [
      'errors',
      () =>
        new Observable((subscriber) => {
          Rig.current.reset.next();
          subscriber.error(new Error('no'));
        }),
    ],
    ['goes on', () => new Observable(() => Rig.current.reset.next())],
    [
      'tears down badly',
      () =>
        new Observable(() => {
          Rig.current.reset.next();
          return () => {
            throw new Error('teardown');
          };
        }),
    ],
    [
      'completes and tears down badly',
      () =>
        new Observable((subscriber) => {
          Rig.current.reset.next();
          subscriber.complete();
          return () => {
            throw new Error('teardown');
          };
        }),
    ],
  ])('L7 should reset while the Observable of a run is being subscribed to, which then %s', async (_, answer) => {
    const { config } = await import('rxjs');
    config.onUnhandledError = () => {};
    const rig: Rig = new Rig((id) => (id === 'r' ? answer() : undefined));
    rig.trigger('r');
    rig.trigger('z');
    expect(rig.told()).toEqual([
      'enqueued r',
      'started r',
      'dropped r stopped',
      'abandoned r',
      'released r',
      'enqueued z',
      'started z',
      'succeeded z',
    ]);
    expect(rig.left).toEqual(NOTHING_LEFT);
    await new Promise((resolve) => setTimeout(resolve));
    config.onUnhandledError = null;
  });

  test('L7 should go on after a reset in a reconciler whose steps an observer answers with events', () => {
    const rig: Rig = new Rig(
      (id) => {
        if (id === 'r') rig.reset.next();
      },
      {},
      ({ kind, id }, { events }) => {
        if (kind === 'dropped') events.next('x');
        if (kind === 'succeeded' && id === 'x') events.next('y');
      },
    );
    rig.trigger('r');
    rig.trigger('z');
    expect(rig.told('succeeded')).toEqual(['succeeded x', 'succeeded y', 'succeeded z']);
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  test('L7 should go on after a reset in one lane while another lane feeds it', () => {
    const rig: Rig = new Rig(
      (id) => {
        if (id === 'r') {
          rig.trigger('X');
          rig.reset.next();
          rig.trigger('X');
        }
        if (id === 'X') rig.trigger('a');
      },
      { workerCount: 2, workerHasher: (id) => (id < 'a' ? 1 : 0) },
    );
    rig.trigger('r');
    rig.trigger('z');
    expect(rig.told('succeeded')).toEqual(['succeeded X', 'succeeded a', 'succeeded z']);
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  test('L7 should go on after the teardown of a run that is cut off resets, triggers and feeds', () => {
    let torn = 0;
    const rig: Rig = new Rig((id) =>
      id === 'a' && rig.starts().length < 3
        ? NEVER.pipe(
            finalize(() => {
              if (torn++ < 5) rig.reset.next();
              rig.trigger('a', 'b');
            }),
          )
        : undefined,
    );
    rig.trigger('a');
    rig.reset.next();
    rig.trigger('z');
    rig.reset.next();
    rig.clock.advance(100);
    checkAccounting(rig.steps, undefined, false);
    rig.trigger('y');
    expect(rig.told('succeeded')).toContain('succeeded y');
    expect(rig.left).toEqual(NOTHING_LEFT);
  });
});
