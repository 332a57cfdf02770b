import { constant, DelayScheduler, exponential, type Reconciler, reconcile, RetryError } from 'kreconciler/operators';
import { marbles } from 'kreconciler/testing';
import { ignoreElements, NEVER, of, queueScheduler, type SchedulerAction, Subject, type Subscription, timer } from 'rxjs';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it, test, vi } from 'vitest';
import { Clock } from '../../support/clock.js';
import { NOTHING_LEFT, Rig } from '../../support/rig.js';
import { until } from '../../support/until.js';

const fails = (): never => {
  throw new Error('no');
};

describe('T1: a delay is a lower bound', () => {
  it.each([
    // [resolution, failed at, delay, due]
    [10, 0, 10, 10],
    [10, 0, 11, 20],
    [10, 1, 10, 20],
    [10, 9, 11, 20],
    [10, 9, 12, 30],
    [10, 10, 10, 20],
    [250, 1, 250, 500],
    [250, 3, 1000, 1250],
    [7, 5, 20, 28],
    [1, 3, 5, 8],
    [0.5, 1, 0.75, 2],
  ])('T1 should round up to a grid of %d ms: failed at %d, delay %d, due at %d', (delayResolution, at, delay, due) => {
    const rig: Rig = new Rig((_, { attempt }) => (attempt === 1 ? fails() : undefined), { delayResolution, backoff: constant(delay) });
    rig.clock.advance(at);
    rig.trigger('a');
    rig.clock.advance(10_000);
    expect(rig.starts()).toEqual([at, due]);
  });

  it.each([
    [1, 10],
    [10, 20],
    [19, 20],
    [20, 30],
  ])('T1 should round a requeueDelay as well: %d ms after 1 is due at %d', (requeueDelay, due) => {
    const rig: Rig = new Rig((_, { reason }) => (reason === 'event' ? { requeueDelay } : undefined));
    rig.clock.advance(1);
    rig.trigger('a');
    rig.clock.advance(1000);
    expect(rig.starts()).toEqual([1, due]);
  });

  test(
    'T1 should be seen as a picture',
    marbles(({ hot, scheduler, expectSteps }) => {
      const reconciler: Reconciler = (id, { reason }) => (reason === 'event' ? { requeueDelay: id === 'a' ? 4 : 6 } : undefined);
      //                       |    |    |    |    the grid
      const source = hot('     -a--b----------|');
      expectSteps(source.pipe(reconcile(reconciler, { scheduler, delayResolution: 5 }))).toBeExactly({
        enqueued: '            -a--ba----b',
        started: '             -a--ba----b',
        requeued: '            -a--b',
        succeeded: '           -----a----b',
        ends: '                ---------------|',
      });
    }),
  );
});

describe('T2: one timer a tick', () => {
  test('T2 should share one timer among all that are due in one tick', () => {
    const rig: Rig = new Rig(() => ({ requeueDelay: 100 }), { delayQueueSize: 5000 });
    for (let i = 0; i < 5000; i++) rig.trigger(`${i}`);
    expect(rig.clock.timers).toBe(1);
  });

  test('T2 should have as many timers as there are distinct ticks', () => {
    const rig: Rig = new Rig((id) => ({ requeueDelay: 10 * (1 + (Number(id) % 7)) }), { delayQueueSize: 5000 });
    for (let i = 0; i < 700; i++) rig.trigger(`${i}`);
    expect(rig.clock.timers).toBe(7);
  });

  test('T2 should take a timer away when nobody waits for it any more', () => {
    let runs = 0;
    const rig: Rig = new Rig(() => (runs++ < 3 ? { requeueDelay: 100 * runs } : undefined));
    rig.trigger('a');
    for (let i = 0; i < 2; i++) {
      rig.trigger('a');
      expect(rig.clock.timers).toBe(1);
    }
    rig.trigger('a');
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  test('T2 should take the timers of a retry and its embargo away when it succeeds early', () => {
    const rig: Rig = new Rig((_, { attempt }) => (attempt === 1 && runs++ === 0 ? fails() : undefined), { backoff: constant(500) });
    let runs = 0;
    rig.trigger('a');
    expect(rig.clock.timers).toBe(2);
    rig.clock.advance(20);
    rig.trigger('a');
    expect(rig.told('succeeded')).toEqual(['succeeded a']);
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  test('T2 should wake the ids of one tick in the order in which they came to wait', () => {
    const rig: Rig = new Rig((_, { reason }) => (reason === 'event' ? { requeueDelay: 50 } : undefined));
    rig.trigger('c', 'a', 'b');
    rig.clock.advance(50);
    expect(rig.told('started').slice(3)).toEqual(['started c', 'started a', 'started b']);
  });
});

describe('T3: delays of every size and kind', () => {
  const DAY = 86_400_000;

  it.each([2 ** 31 - 1, 2 ** 31, 2 ** 31 + 1, 2 ** 32, 30 * DAY, 3650 * DAY])('T3 should honour a delay of %d ms', (delay) => {
    const rig: Rig = new Rig((_, { reason }) => (reason === 'event' ? { requeueDelay: delay } : undefined), { delayResolution: 1 });
    rig.trigger('a');
    rig.clock.advance(delay - 1);
    expect(rig.starts()).toEqual([0]);
    rig.clock.advance(1);
    expect(rig.starts()).toEqual([0, delay]);
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  test('T3 should honour a delay that is longer than any life', () => {
    const rig: Rig = new Rig(() => ({ requeueDelay: Number.MAX_VALUE }));
    rig.trigger('a');
    rig.clock.advance(10 * 365 * DAY);
    expect(rig.starts()).toEqual([0]);
    rig.stop.next();
    expect(rig.end).toBe('completed');
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  it.each([NaN, Infinity, -Infinity, -1, -0.001, '5', true, 5n, {}, [], null, () => 5, Symbol('5'), new Date(5)])(
    'T3 should fail a run that asks for a requeueDelay of %s',
    (requeueDelay) => {
      const rig: Rig = new Rig((_, { attempt }) => (attempt === 1 ? { requeueDelay: requeueDelay as number } : undefined));
      rig.trigger('a');
      rig.clock.advance(100);
      expect(rig.steps[2]).toMatchObject({ kind: 'requeued', failure: 'invalid', delay: 10 });
      expect((rig.steps[2] as { error?: unknown }).error).toBeInstanceOf(TypeError);
      expect(rig.told().slice(3)).toEqual(['enqueued a', 'started a', 'succeeded a']);
    },
  );

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['null', null],
    ['an empty object', {}],
    ['a requeueDelay of 0', { requeueDelay: 0 }],
    ['a requeueDelay of -0', { requeueDelay: -0 }],
    ['a requeueDelay of undefined', { requeueDelay: undefined }],
    ['an object of another kind', { ok: true }],
    ['an object without a prototype', Object.create(null)],
  ])('T3 should take %s for done', (_, result) => {
    const rig: Rig = new Rig(() => result as object);
    rig.trigger('a');
    expect(rig.told()).toEqual(['enqueued a', 'started a', 'succeeded a']);
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  it.each([NaN, Infinity, -1, '30', null, undefined, {}])('T3 should ignore a retryDelay of %s, and ask the backoff', (retryDelay) => {
    const rig: Rig = new Rig(
      () => {
        throw new RetryError('no', retryDelay as number);
      },
      { backoff: constant(70) },
    );
    rig.trigger('a');
    expect(rig.steps[2]).toMatchObject({ kind: 'requeued', delay: 70 });
  });

  it.each<[string, () => unknown]>([
    ['throws', fails],
    ['returns NaN', () => NaN],
    ['returns Infinity', () => Infinity],
    ['returns a negative delay', () => -5],
    ['returns nothing', () => undefined],
    ['returns a string', () => '70'],
    ['returns a promise', async () => 70],
    ['returns less than the resolution', () => 3],
    ['returns 0', () => 0],
  ])('T3 should count a backoff that %s as delayResolution', (_, backoff) => {
    const rig: Rig = new Rig(fails, { backoff: backoff as () => number, maxItemRetries: 2 });
    rig.trigger('a');
    rig.clock.advance(100);
    expect(rig.starts()).toEqual([0, 10, 20]);
    expect(rig.steps[2]).toMatchObject({ kind: 'requeued', delay: 10 });
    expect(rig.told('dropped')).toEqual(['dropped a retries']);
  });

  it.each([0, Infinity, 2 ** 31, 2 ** 40])(
    'T3 should take a maxReconcileTime of %d for what it says, and not for a moment',
    (maxReconcileTime) => {
      const rig: Rig = new Rig(() => timer(1_000_000, rig.clock).pipe(ignoreElements()), { maxReconcileTime });
      rig.trigger('a');
      rig.clock.advance(1_000_000);
      expect(rig.told()).toEqual(['enqueued a', 'started a', 'succeeded a']);
      expect(rig.left).toEqual(NOTHING_LEFT);
    },
  );

  test('T3 should time a run out after more than 2^31 ms', () => {
    const rig: Rig = new Rig(() => timer(Infinity, rig.clock).pipe(ignoreElements()), { maxReconcileTime: 2 ** 31 + 5, maxItemRetries: 0 });
    rig.trigger('a');
    rig.clock.advance(2 ** 31 + 4);
    expect(rig.told('dropped')).toEqual([]);
    rig.clock.advance(1);
    expect(rig.told('dropped')).toEqual(['dropped a retries']);
  });
});

describe('T4: a step of the wall clock', () => {
  const HOUR = 3_600_000;
  const poll: Reconciler = (_, { reason }) => (reason === 'event' ? { requeueDelay: 100 } : undefined);
  const failOnce: Reconciler = (_, { attempt }) => (attempt === 1 ? fails() : undefined);

  for (const by of [-HOUR, -55, -5, 5, 55, HOUR]) {
    it.each<[string, Reconciler]>([
      ['requeue', poll],
      ['retry', failOnce],
    ])(`T4 should move or block no armed %s when it is ${by} ms`, (_, reconciler) => {
      const rig: Rig = new Rig(reconciler, { backoff: constant(100) });
      rig.trigger('a');
      rig.clock.advance(50);
      rig.clock.wallClockSetBy = by;
      rig.clock.advance(49);
      expect(rig.told('started')).toHaveLength(1);
      rig.clock.advance(1);
      expect(rig.told('started')).toHaveLength(2);
    });

    test(`T4 should let an embargo end by its tick when it is ${by} ms`, () => {
      const rig: Rig = new Rig(failOnce, { backoff: constant(HOUR) });
      rig.trigger('a');
      rig.clock.advance(5);
      rig.clock.wallClockSetBy = by;
      rig.trigger('a');
      rig.clock.advance(4);
      expect(rig.told('started')).toHaveLength(1);
      rig.clock.advance(1);
      expect(rig.told('started')).toHaveLength(2);
    });

    test(`T4 should keep the loop going for ids that come after it is ${by} ms`, () => {
      const rig: Rig = new Rig(failOnce, { backoff: constant(30), delayQueueSize: 5 });
      rig.trigger('a');
      rig.clock.advance(5);
      rig.clock.wallClockSetBy = by;
      rig.trigger('b');
      rig.clock.advance(100);
      expect(rig.told('succeeded').sort()).toEqual(['succeeded a', 'succeeded b']);
      expect(rig.left).toEqual(NOTHING_LEFT);
    });

    test(`T4 should time no run out early, nor for ever wait for one, when it is ${by} ms`, () => {
      const cut: number[] = [];
      const rig: Rig = new Rig(
        (id) => timer(id === 'a' ? 100 : Infinity, rig.clock).pipe(ignoreElements()),
        { maxReconcileTime: 1000, maxItemRetries: 0 },
        ({ kind }) => {
          if (kind === 'dropped') cut.push(rig.clock.frame);
        },
      );
      rig.trigger('a', 'b');
      rig.clock.advance(300);
      rig.clock.wallClockSetBy = by;
      rig.clock.advance(799);
      expect(cut).toEqual([]);
      rig.clock.advance(1201);
      expect(cut).toHaveLength(1);
    });
  }

  test('T4 should not share the timer of a tick that was armed before the clock was set back', () => {
    const rig: Rig = new Rig(failOnce);
    rig.clock.advance(1001);
    rig.trigger('a'); // is due at 1020
    rig.clock.advance(14);
    rig.trigger('b'); // at 1015, is due at 1030
    rig.clock.wallClockSetBy = -13;
    rig.trigger('c'); // at 1002 again, so it is due at 1020 too, but that of `a` comes in 5 ms
    rig.clock.advance(9);
    expect(rig.told('started')).toEqual(['started a', 'started b', 'started c', 'started a']);
    rig.clock.advance(9);
    expect(rig.told('started').slice(4)).toEqual(['started b', 'started c']);
  });

  test('T4 should never report a negative time', () => {
    const rig: Rig = new Rig((id) => (id === 'a' ? timer(10, rig.clock).pipe(ignoreElements()) : undefined));
    rig.trigger('a', 'b');
    rig.clock.wallClockSetBy = -HOUR;
    rig.clock.advance(100);
    for (const step of rig.steps) {
      if ('took' in step) expect(step.took).toBeGreaterThanOrEqual(0);
      if ('waited' in step) expect(step.waited).toBeGreaterThanOrEqual(0);
    }
    expect(rig.told('succeeded')).toHaveLength(2);
  });
});

describe('T5: one tick cannot stop the next', () => {
  test('T5 should wake every id though each that was woken fails', () => {
    const rig: Rig = new Rig(fails, { maxItemRetries: 3 });
    rig.trigger('a', 'b', 'c');
    rig.clock.advance(15);
    rig.trigger('d');
    rig.clock.advance(100);
    for (const id of ['a', 'b', 'c', 'd']) expect(rig.starts(id)).toHaveLength(4);
  });

  test('T5 should wake the next tick though an observer unsubscribes, resets or triggers during the one before', () => {
    const rig: Rig = new Rig(
      (id, { reason }) => (reason === 'event' ? { requeueDelay: Number(id) * 10 } : undefined),
      {},
      ({ kind, id }, { events, reset }) => {
        if (kind === 'succeeded' && id === '1') events.next('9');
        if (kind === 'requeued' && id === '9') reset.next();
        if (kind === 'dropped' && id === '2') events.next('3');
      },
    );
    rig.trigger('1', '2');
    rig.clock.advance(100);
    expect(rig.told('succeeded')).toEqual(['succeeded 1', 'succeeded 3']);
    expect(rig.left).toEqual(NOTHING_LEFT);
  });
});

describe('T6: every time source is a SchedulerLike', () => {
  test('T6 should name no clock and no timer of the platform in operators and lib', () => {
    const banned = /\b(Date\.now|performance\.now|new Date\(\)|set(Timeout|Interval|Immediate)\(|hrtime)/;
    const files = ['operators', 'lib'].flatMap((folder) =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.ts'))
        .map((name) => `${folder}/${name}`),
    );
    expect(files.length).toBeGreaterThan(20);
    const code = (file: string): string => readFileSync(file, 'utf8').replace(/\/\*[^]*?\*\/|\/\/.*/g, '');
    expect(files.filter((file) => banned.test(code(file)))).toEqual([]);
  });

  test('T6 should live wholly in the time it is given', () => {
    const rig: Rig = new Rig((_, { attempt }) => (attempt < 4 ? fails() : undefined), {
      backoff: exponential({ initial: 1000, jitter: 0 }),
    });
    rig.trigger('a');
    rig.clock.advance(10_000);
    expect(rig.starts()).toEqual([0, 1000, 3000, 7000]);
    expect(rig.steps.map(({ at }) => at)).toEqual([...rig.steps.map(({ at }) => at)].sort((a, b) => a - b));
  });
});

describe('T4: ticks are shared only while the clock is consistent', () => {
  const poll = 3_600_000;
  const reconciler =
    (rig: () => Rig): Reconciler =>
    (id) => {
      if (id === 'poll') return { requeueDelay: poll };
      return rig().starts(id).length === 1 ? fails() : undefined;
    };

  it.each([-30, -1, 0, 1, 30, 500].flatMap((off) => [0, 7, 240, 900].map((before) => [off, before] as const)))(
    'T4 should not let a retry join the tick of a poll, though the clock was set forward to %d ms from it, %d ms after it began',
    (off, before) => {
      const rig: Rig = new Rig(
        reconciler(() => rig),
        { delayResolution: 250, backoff: constant(1000) },
      );
      rig.trigger('poll');
      rig.clock.advance(before);
      rig.clock.wallClockSetBy = poll - before - 1000 + off;
      rig.trigger('retry');
      const start = rig.clock.frame;
      rig.clock.advance(1500);
      expect(rig.starts('retry')).toHaveLength(2);
      rig.clock.advance(poll);
      expect(rig.told('requeued').filter((step) => step.endsWith('poll'))).toHaveLength(2);
      expect(start).toBe(before);
    },
  );

  it.each([1, 9, 10, 11, 100, 900])('T4 should not be early after a step back by %d ms that only an event has seen', (back) => {
    const rig: Rig = new Rig((id) => (id === 'seen' ? undefined : { requeueDelay: 1000 }), { delayResolution: 10 });
    const ended: number[] = [];
    rig.trigger('first');
    rig.clock.advance(back + 5);
    rig.trigger('seen');
    rig.clock.wallClockSetBy = -back;
    const at = rig.clock.frame;
    rig.trigger('second');
    rig.clock.advance(999);
    ended.push(rig.starts('second').length);
    rig.clock.advance(11);
    ended.push(rig.starts('second').length);
    expect(ended).toEqual([1, 2]);
    expect(at).toBe(back + 5);
  });
});

describe('T1: never early on the clock of the loop', () => {
  /** Real timers count from when they were armed, in fractions of a ms, and some fire up to 1 ms early; the clock shows whole ms. */
  class CoarseClock extends Clock {
    override now = (): number => Math.floor(this.frame);

    override schedule<T>(work: (this: SchedulerAction<T>, state?: T) => void, delay = 0, state?: T): Subscription {
      return super.schedule(work, Math.max(delay - 0.9, 0), state);
    }
  }

  it.each([1, 2, 3, 5])('T1 should wait out what a timer is early by, on a grid of %d ms', (delayResolution) => {
    const clock = new CoarseClock();
    const due: number[] = [];
    const times: number[] = [];
    const rig: Rig = new Rig(
      (_, { attempt }) => {
        times.push(clock.now());
        if (attempt > 5) return undefined;
        due.push(clock.now() + 7);
        return fails();
      },
      { scheduler: clock, delayResolution, backoff: constant(7) },
    );
    rig.trigger('first');
    clock.advance(200);
    expect(times).toHaveLength(6);
    for (const [i, at] of due.entries()) {
      expect(times[i + 1]).toBeGreaterThanOrEqual(at);
      expect(times[i + 1]).toBeLessThanOrEqual(at + delayResolution + 1);
    }
  });
});

describe('T2: schedulers that do at once what has no delay', () => {
  test('T2 should run on a queueScheduler', async () => {
    const scheduler = new DelayScheduler(1, queueScheduler);
    const ran: number[] = [];
    for (const ms of [0, 3, 0]) scheduler.schedule(() => ran.push(ms), ms);
    let turns = 0;
    scheduler.schedule(function (this: SchedulerAction<unknown>) {
      if (++turns < 3) this.schedule(undefined, 0);
    }, 0);
    await until('all have run', () => ran.length === 3 && turns === 3);
    expect([...ran].sort()).toEqual([0, 0, 3]);
  });

  test('O1 should give each run its own time on a queueScheduler, which has the probe come at once', async () => {
    vi.useFakeTimers();
    const aborted: number[] = [];
    const events = new Subject<string>();
    const reconciler: Reconciler = (id, { signal }) => {
      const at = Date.now();
      signal.addEventListener('abort', () => aborted.push(Date.now() - at));
      return id === 'hangs' ? NEVER : new Promise<void>((resolve) => setTimeout(resolve, 5));
    };
    const config = { scheduler: queueScheduler, maxReconcileTime: 1_000, maxItemRetries: 0 };
    const subscription = events.pipe(reconcile(reconciler, config)).subscribe();
    for (const id of ['web', 'db', 'hangs']) events.next(id);
    await vi.advanceTimersByTimeAsync(3_000);
    subscription.unsubscribe();
    vi.useRealTimers();
    expect(aborted).toEqual([1_000]);
  });

  test('T2 should retry on a queueScheduler, though arming takes longer than the wait', async () => {
    const starts: number[] = [];
    const ends = new Promise<void>((resolve) => {
      of('slow')
        .pipe(
          reconcile(
            (_, { attempt }) => {
              starts.push(attempt);
              if (attempt === 1) fails();
            },
            {
              scheduler: queueScheduler,
              delayResolution: 1,
              backoff: () => {
                for (const end = performance.now() + 5; performance.now() < end;);
                return 1;
              },
            },
          ),
        )
        .subscribe({ complete: resolve });
    });
    await ends;
    expect(starts).toEqual([1, 2]);
  });
});
