import { type Reconciler, reconcile } from 'kreconciler/operators';
import { marbles } from 'kreconciler/testing';
import { EMPTY, finalize, ignoreElements, NEVER, Observable, TimeoutError, timer } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it, test } from 'vitest';
import { deferred } from '../../support/deferred.js';
import { NOTHING_LEFT, Rig } from '../../support/rig.js';

const unhandled: unknown[] = [];
const note = (error: unknown): void => void unhandled.push(error);

beforeEach(() => {
  unhandled.length = 0;
  process.on('unhandledRejection', note);
});
afterEach(async () => {
  await new Promise(setImmediate);
  process.off('unhandledRejection', note);
  expect(unhandled).toEqual([]);
});

describe('O1: a run over time', () => {
  test('O1 should abort the signal and fail the attempt after maxReconcileTime', async () => {
    let signal: AbortSignal | undefined;
    const rig: Rig = new Rig(
      (_, context) => {
        signal = context.signal;
        return new Promise(() => {});
      },
      { maxReconcileTime: 15 },
    );
    rig.trigger('a');
    await rig.clock.pass(14);
    expect(signal?.aborted).toBe(false);
    await rig.clock.pass(1);
    expect(signal?.aborted).toBe(true);
    expect(signal?.reason).toBeInstanceOf(TimeoutError);
    const requeued = rig.steps[2] as { error?: unknown };
    expect(requeued).toMatchObject({ kind: 'requeued', failure: 'timeout', took: 15, error: signal?.reason as unknown });
    expect(requeued.error).toMatchObject({ name: 'TimeoutError', message: expect.stringContaining('`a`') as string });
  });

  test(
    'O1 should give each run of a busy period its own time',
    marbles(({ hot, cold, scheduler, expectSteps }) => {
      const quick = cold('     ---|');
      const slow = cold('      ------|');
      const reconciler: Reconciler = (id) => (id === 'a' ? quick : id === 'b' ? slow : cold('-')).pipe(ignoreElements());
      // May take 5: a is in time, b is cut off at 8, c at 13.
      const source = hot('     (abc)-----------|');
      expectSteps(source.pipe(reconcile(reconciler, { scheduler, maxReconcileTime: 5, maxItemRetries: 0 }))).toBeExactly({
        enqueued: '            (abc)',
        started: '             a--b----c',
        succeeded: '           ---a',
        dropped: '             --------b----c',
        ends: '                ----------------|',
      });
    }),
  );

  test('O1 should hold for the first run after synchronous ones, and after a pause', () => {
    const rig: Rig = new Rig((id) => (id < 'm' ? undefined : NEVER), { maxReconcileTime: 15, maxItemRetries: 0 });
    rig.trigger('a', 'b', 'x');
    rig.clock.advance(100);
    rig.trigger('a', 'y');
    rig.clock.advance(100);
    expect(rig.steps.filter(({ kind }) => kind === 'dropped')).toMatchObject([
      { id: 'x', took: 15 },
      { id: 'y', took: 15, at: 115 },
    ]);
  });

  test('O1 should hold however often runs follow each other', () => {
    const rig: Rig = new Rig((id) => (Number(id) % 7 === 6 ? NEVER : timer(Number(id) % 7, rig.clock).pipe(ignoreElements())), {
      maxReconcileTime: 10,
      maxItemRetries: 0,
    });
    for (let i = 0; i < 200; i++) rig.trigger(`${i}`);
    rig.clock.advance(5000);
    const dropped = rig.steps.filter((step) => step.kind === 'dropped');
    expect(dropped).toHaveLength(28);
    expect(dropped.every((step) => step.took === 10)).toBe(true);
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  it.each([0, Infinity])('O1 should know no limit with a maxReconcileTime of %d', (maxReconcileTime) => {
    const rig: Rig = new Rig(() => NEVER, { maxReconcileTime });
    rig.trigger('a');
    expect(rig.clock.timers).toBe(0);
    rig.clock.advance(1_000_000);
    expect(rig.told()).toEqual(['enqueued a', 'started a']);
  });

  it.each<[string, (work: ReturnType<typeof deferred<unknown>>) => void]>([
    ['result', (work) => work.resolve({ requeueDelay: 5 })],
    ['rejection', (work) => work.reject(new Error('late'))],
    ['odd result', (work) => work.resolve('late')],
    [
      'unreadable result',
      (work) =>
        work.resolve({
          get error(): never {
            throw new Error('late');
          },
        }),
    ],
  ])('O1 should ignore a late %s', async (_, settle) => {
    const work = deferred<unknown>();
    const rig: Rig = new Rig(() => (rig.starts().length === 1 ? (work.promise as Promise<undefined>) : undefined), {
      maxReconcileTime: 15,
    });
    rig.trigger('a');
    await rig.clock.pass(100);
    settle(work);
    await rig.clock.pass(100);
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
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  test('O1 should ignore what a run that was cut off does in answer to its signal', async () => {
    const rig: Rig = new Rig(
      (_, { signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => {
            rig.trigger('a');
            reject(signal.reason as Error);
          });
        }),
      { maxReconcileTime: 15, maxItemRetries: 0 },
    );
    rig.trigger('a');
    await rig.clock.pass(20);
    // The event of the listener came after the failure: it is one of an abandoned id, which is released at once.
    expect(rig.told()).toEqual([
      'enqueued a',
      'started a',
      'dropped a retries',
      'abandoned a',
      'merged a',
      'released a',
      'enqueued a',
      'started a',
    ]);
  });

  test('O1 should abort a signal that is read only after the timeout', async () => {
    const signals: AbortSignal[] = [];
    const rig: Rig = new Rig(
      async (_, context) => {
        await new Promise<void>((resolve) => rig.clock.schedule(() => resolve(), 20));
        signals.push(context.signal);
      },
      { maxReconcileTime: 15, maxItemRetries: 0 },
    );
    rig.trigger('a');
    await rig.clock.pass(100);
    expect(signals).toHaveLength(1);
    expect(signals[0]!.aborted).toBe(true);
    expect(signals[0]!.reason).toBeInstanceOf(TimeoutError);
  });

  test('O1 should leave the signal of a run in time alone', async () => {
    let signal: AbortSignal | undefined;
    const rig: Rig = new Rig(async (_, context) => void (signal = context.signal), { maxReconcileTime: 15 });
    rig.trigger('a');
    await rig.clock.pass(100);
    rig.reset.next();
    rig.subscription.unsubscribe();
    expect(signal?.aborted).toBe(false);
  });
});

describe('O2: what becomes of the run', () => {
  test(
    'O2 should unsubscribe an Observable',
    marbles(({ hot, cold, scheduler, expectSteps, expectSubscriptions }) => {
      const run = cold('       ---------|');
      const source = hot('     -a----------|');
      expectSteps(
        source.pipe(reconcile(() => run.pipe(ignoreElements()), { scheduler, maxReconcileTime: 5, maxItemRetries: 0 })),
      ).toBeExactly({
        enqueued: '            -a',
        started: '             -a',
        dropped: '             ------a',
        ends: '                ------------|',
      });
      expectSubscriptions(run.subscriptions).toBe('-^----!');
    }),
  );

  test('O2 should go on with other ids while a promise is open', async () => {
    const work = deferred();
    const rig: Rig = new Rig((id) => (id === 'a' ? work.promise : undefined), { maxReconcileTime: 15 });
    rig.trigger('a', 'b', 'c');
    await rig.clock.pass(20);
    expect(rig.told('succeeded')).toEqual(['succeeded b', 'succeeded c']);
    expect(rig.told('abandoned')).toEqual(['abandoned a']);
  });

  const hangs = { maxReconcileTime: 15, maxItemRetries: 5, backoff: () => 10 };
  /** A reconciler whose first run settles at `at`, and the rest at once. */
  const settlesAt =
    (at: number): Reconciler =>
    () =>
      Rig.current.starts().length > 1 ? undefined : new Promise<void>((resolve) => Rig.current.clock.schedule(() => resolve(), at));

  test('O2 should hold a wake-up that is due until the promise has settled', async () => {
    const rig: Rig = new Rig(settlesAt(100), hangs);
    rig.trigger('a');
    await rig.clock.pass(1000);
    expect(rig.starts()).toEqual([0, 100]);
    expect(rig.steps.filter(({ kind }) => kind === 'enqueued')).toMatchObject([{ reason: 'event' }, { reason: 'retry', at: 100 }]);
  });

  test('O2 should let the wait go on if the promise settles before the wake-up is due', async () => {
    const rig: Rig = new Rig(settlesAt(20), { ...hangs, backoff: () => 100 });
    rig.trigger('a');
    await rig.clock.pass(1000);
    expect(rig.starts()).toEqual([0, 120]);
  });

  test('O2 should pull the retry of a dirty one forward, once the promise has settled (E1)', async () => {
    const rig: Rig = new Rig(settlesAt(18), { ...hangs, backoff: () => 100 });
    rig.trigger('a');
    await rig.clock.pass(16);
    rig.trigger('a');
    await rig.clock.pass(1000);
    expect(rig.starts()).toEqual([0, 30]);
    expect(rig.told()).toEqual([
      'enqueued a',
      'started a',
      'requeued a',
      'abandoned a',
      'merged a',
      'released a',
      'enqueued a',
      'started a',
      'succeeded a',
    ]);
  });

  test('O2 should start a dirty one at once if the embargo has passed when the promise settles', async () => {
    const rig: Rig = new Rig(settlesAt(55), { ...hangs, backoff: () => 100 });
    rig.trigger('a');
    await rig.clock.pass(16);
    rig.trigger('a');
    await rig.clock.pass(1000);
    expect(rig.starts()).toEqual([0, 55]);
    expect(rig.steps.at(-2)).toMatchObject({ kind: 'started', reason: 'event', attempt: 2 });
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  test('O2 should serve the mark of a run that was dirty when it timed out only once', async () => {
    const rig: Rig = new Rig(settlesAt(100), hangs);
    rig.trigger('a');
    await rig.clock.pass(5);
    rig.trigger('a');
    await rig.clock.pass(30);
    rig.trigger('a');
    await rig.clock.pass(1000);
    expect(rig.starts()).toEqual([0, 100]);
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  test('O2 should serve the mark of an abandoned id that was dropped', async () => {
    const rig: Rig = new Rig(settlesAt(100), { ...hangs, maxItemRetries: 0 });
    rig.trigger('a');
    await rig.clock.pass(50);
    expect(rig.told()).toEqual(['enqueued a', 'started a', 'dropped a retries', 'abandoned a']);
    rig.trigger('a');
    await rig.clock.pass(1000);
    expect(rig.starts()).toEqual([0, 100]);
    expect(rig.steps.at(-2)).toMatchObject({ kind: 'started', attempt: 1, reason: 'event' });
  });

  test('O2 should forget an abandoned id that was dropped and is not dirty once its promise has settled', async () => {
    const rig: Rig = new Rig(settlesAt(100), { ...hangs, maxItemRetries: 0 });
    rig.trigger('a');
    await rig.clock.pass(50);
    expect(rig.left).toEqual({ ids: 1, timers: 1 });
    await rig.clock.pass(50);
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  test('O2 should start one that was dropped while dirty at its release, but not before its embargo ends', async () => {
    for (const [settled, start] of [
      [18, 30],
      [30, 30],
      [44, 44],
    ] as const) {
      const rig: Rig = new Rig(settlesAt(settled), { ...hangs, maxItemRetries: 0 });
      rig.trigger('a', 'a');
      await rig.clock.pass(1000);
      expect(rig.starts()).toEqual([0, start]);
      expect(rig.left).toEqual(NOTHING_LEFT);
    }
  });

  test('O2 should abandon an id again and again, and count each', async () => {
    const rig: Rig = new Rig(() => new Promise<void>((resolve) => rig.clock.schedule(() => resolve(), 25)), {
      ...hangs,
      maxItemRetries: 2,
    });
    rig.trigger('a');
    await rig.clock.pass(1000);
    expect(rig.told('abandoned', 'released')).toEqual([
      'abandoned a',
      'released a',
      'abandoned a',
      'released a',
      'abandoned a',
      'released a',
    ]);
    expect(rig.told('dropped')).toEqual(['dropped a retries']);
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  test('O2 should release an id when its async iterable lets itself be ended', async () => {
    let ended = false;
    const rig: Rig = new Rig(
      async function* () {
        try {
          for (;;) {
            await new Promise<void>((resolve) => rig.clock.schedule(() => resolve(), 10));
            yield;
          }
        } finally {
          ended = true;
        }
      },
      { ...hangs, maxItemRetries: 0 },
    );
    rig.trigger('a');
    await rig.clock.pass(15);
    expect(ended).toBe(false);
    await rig.clock.pass(15);
    expect(ended).toBe(true);
    expect(rig.told()).toEqual(['enqueued a', 'started a', 'dropped a retries', 'abandoned a', 'released a']);
  });

  it.each<[string, () => Observable<never>]>([
    [
      'throws',
      () =>
        new Observable(() => () => {
          throw new Error('teardown');
        }),
    ],
    ['triggers its id', () => NEVER.pipe(finalize(() => Rig.current.trigger('a')))],
    ['stops the loop', () => NEVER.pipe(finalize(() => Rig.current.stop.next()))],
    ['unsubscribes the loop', () => NEVER.pipe(finalize(() => Rig.current.subscription.unsubscribe()))],
  ])('O2 should survive an Observable whose teardown %s', async (_, answer) => {
    const reported: unknown[] = [];
    const { config } = await import('rxjs');
    config.onUnhandledError = (error) => reported.push(error);
    try {
      const rig: Rig = new Rig((id) => (id === 'a' && rig.starts().length === 1 ? answer() : EMPTY), { ...hangs, maxItemRetries: 0 });
      rig.trigger('a');
      rig.clock.advance(15);
      rig.trigger('b');
      rig.clock.advance(100);
      const lives = rig.end === undefined && !rig.subscription.closed;
      expect(rig.told('succeeded').includes('succeeded b')).toBe(lives);
      expect(rig.left).toEqual(NOTHING_LEFT);
      await new Promise((resolve) => setTimeout(resolve));
      expect(reported).toHaveLength(answer.toString().includes('throw') ? 1 : 0);
    } finally {
      config.onUnhandledError = null;
    }
  });

  test('O2 should not hang a stop with a hung run', async () => {
    const rig: Rig = new Rig((id) => (id === 'a' ? new Promise(() => {}) : EMPTY), { shutdownGrace: 50, maxReconcileTime: 0 });
    rig.trigger('a', 'b');
    rig.stop.next();
    await rig.clock.pass(49);
    expect(rig.end).toBeUndefined();
    await rig.clock.pass(1);
    expect(rig.end).toBe('completed');
    expect(rig.left).toEqual(NOTHING_LEFT);
  });
});
