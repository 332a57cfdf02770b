import { DelayScheduler, reconcile } from 'kreconciler/operators';
import { marbles } from 'kreconciler/testing';
import {
  asyncScheduler,
  config,
  debounceTime,
  delay,
  delayWhen,
  interval,
  map,
  of,
  type SchedulerAction,
  type SchedulerLike,
  take,
  timer,
} from 'rxjs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

/** Runs `work` at `delay` on the scheduler and notes when it ran, in ms from now. */
function timed(scheduler: SchedulerLike, delay?: number) {
  const from = performance.now();
  const ran: number[] = [];
  const action = scheduler.schedule(() => void ran.push(performance.now() - from), delay);
  return { ran, action };
}

beforeEach(() => void vi.useFakeTimers({ now: 0 }));
afterEach(() => {
  vi.useRealTimers();
  config.onUnhandledError = null;
});

describe('T1: a delay', () => {
  // prettier-ignore -- aligned
  it.each([
    { now: 0, delay: 1, after: 250 },
    { now: 0, delay: 250, after: 250 },
    { now: 0, delay: 251, after: 500 },
    { now: 100, delay: 100, after: 150 },
    { now: 100, delay: 150, after: 150 },
    { now: 100, delay: 151, after: 400 },
    { now: 100, delay: 0, after: 150 },
    { now: 100, delay: -5, after: 150 },
    { now: 100, delay: NaN, after: 150 },
    { now: 100, delay: -Infinity, after: 150 },
    { now: 100, delay: undefined, after: 150 },
  ])('should wait, for $delay at $now, until $after', ({ now, delay, after }) => {
    const scheduler = new DelayScheduler(250);
    vi.advanceTimersByTime(now);
    const { ran } = timed(scheduler, delay);
    vi.advanceTimersByTime(after - 1);
    expect(ran).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(ran).toEqual([after]);
    vi.advanceTimersByTime(10_000);
    expect(ran).toHaveLength(1);
  });

  it('should end at once for 0 on the grid itself, though not before the caller has gone on', () => {
    const { ran } = timed(new DelayScheduler(250), 0);
    expect(ran).toEqual([]);
    vi.advanceTimersByTime(0);
    expect(ran).toEqual([0]);
  });

  it('should be never early, and at most one tick late, by real timers too', async () => {
    vi.useRealTimers();
    const scheduler = new DelayScheduler(20);
    const order: string[] = [];
    const done = (name: string, ms: number) =>
      new Promise<number>((resolve) => {
        const from = performance.now();
        scheduler.schedule(() => {
          order.push(name);
          resolve(performance.now() - from);
        }, ms);
      });
    const [long, short] = await Promise.all([done('long', 90), done('short', 15)]);
    expect(order).toEqual(['short', 'long']);
    // Date.now counts whole ms, and so may a native timer.
    expect(short).toBeGreaterThanOrEqual(13);
    expect(long).toBeGreaterThanOrEqual(88);
  });
});

describe('T1: a retry', () => {
  it('should be at most one tick late, though the clock goes on between the failure and its arming', () => {
    vi.setSystemTime(249);
    const ran: number[] = [];
    const fails = (): never => {
      ran.push(Date.now());
      throw new Error('broken');
    };
    const backoff = (): number => {
      vi.advanceTimersByTime(1);
      return 251;
    };
    const loop = of('a')
      .pipe(reconcile(fails, { delayResolution: 250, maxItemRetries: 1, backoff }))
      .subscribe();
    vi.advanceTimersByTime(10_000);
    expect(ran).toEqual([249, 500]);
    loop.unsubscribe();
  });
});

describe('T2: native timers', () => {
  it('should be as many as there are ticks, however many actions', () => {
    const scheduler = new DelayScheduler(250);
    const ran = vi.fn();
    for (let i = 0; i < 10_000; i++) scheduler.schedule(ran, 1 + (i % 1000));
    expect(vi.getTimerCount()).toBe(4);
    vi.advanceTimersByTime(1000);
    expect(ran).toHaveBeenCalledTimes(10_000);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('should go when the last action in their tick is unsubscribed', () => {
    const scheduler = new DelayScheduler(250);
    const [one, two, other] = [timed(scheduler, 100), timed(scheduler, 200), timed(scheduler, 300)];
    one.action.unsubscribe();
    expect(vi.getTimerCount()).toBe(2);
    two.action.unsubscribe();
    expect(vi.getTimerCount()).toBe(1);
    other.action.unsubscribe();
    other.action.unsubscribe();
    expect(vi.getTimerCount()).toBe(0);
    vi.advanceTimersByTime(1000);
    expect([one.ran, two.ran, other.ran]).toEqual([[], [], []]);
  });

  it('should run the actions of one tick in the order in which they came', () => {
    const scheduler = new DelayScheduler(250);
    const order: number[] = [];
    for (const [name, ms] of [200, 10, 250, 100].entries()) scheduler.schedule(() => void order.push(name), ms);
    vi.advanceTimersByTime(250);
    expect(order).toEqual([0, 1, 2, 3]);
  });

  it('should not run an action that a neighbour in its tick has unsubscribed', () => {
    const scheduler = new DelayScheduler(250);
    scheduler.schedule(() => {
      victim.action.unsubscribe();
    }, 100);
    const victim = timed(scheduler, 100);
    const last = timed(scheduler, 100);
    vi.advanceTimersByTime(250);
    expect([victim.ran, last.ran]).toEqual([[], [250]]);
  });
});

describe('T3: long delays', () => {
  it.each([2 ** 31 - 1, 2 ** 31, 2 ** 32 + 5, 1e11])('should wait for %d ms', (ms) => {
    const { ran } = timed(new DelayScheduler(250), ms);
    vi.advanceTimersByTime(ms - 1);
    expect(ran).toEqual([]);
    vi.advanceTimersByTime(250);
    expect(ran).toEqual([Math.ceil(ms / 250) * 250]);
  });

  it('should never come for Infinity, and cost no timer', () => {
    const { ran, action } = timed(new DelayScheduler(250), Infinity);
    expect(vi.getTimerCount()).toBe(0);
    vi.advanceTimersByTime(1e12);
    expect(ran).toEqual([]);
    action.unsubscribe();
  });
});

describe('T4: a step of the wall clock', () => {
  it.each([
    ['forward', 3_600_000],
    ['back', -3_600_000],
  ])('should neither move nor block what is armed by a step %s', (_name, step) => {
    const scheduler = new DelayScheduler(250);
    const { ran } = timed(scheduler, 1000);
    vi.advanceTimersByTime(400);
    vi.setSystemTime(Date.now() + step);
    vi.advanceTimersByTime(599);
    expect(ran).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(ran).toEqual([1000]);
  });

  it('should, set back, serve nobody who comes now by a tick of before, which is too early', () => {
    const scheduler = new DelayScheduler(250);
    vi.advanceTimersByTime(1000);
    const before = timed(scheduler, 100);
    vi.setSystemTime(900);
    const after = timed(scheduler, 300);
    vi.advanceTimersByTime(250);
    expect([before.ran, after.ran]).toEqual([[250], []]);
    vi.advanceTimersByTime(100);
    expect(after.ran).toEqual([350]);
  });

  it('should not do so either when set back by less than a tick has been armed', () => {
    const scheduler = new DelayScheduler(250);
    timed(scheduler, 1000);
    vi.advanceTimersByTime(800);
    timed(scheduler, 1);
    vi.setSystemTime(100);
    const { ran } = timed(scheduler, 900);
    vi.advanceTimersByTime(899);
    expect(ran).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(ran).toEqual([900]);
  });

  it('should keep an interval going when set back', () => {
    const ticks = vi.fn();
    const subscription = interval(250, new DelayScheduler(250)).subscribe(ticks);
    vi.advanceTimersByTime(500);
    vi.setSystemTime(-86_400_000);
    vi.advanceTimersByTime(500);
    expect(ticks).toHaveBeenCalledTimes(4);
    subscription.unsubscribe();
  });
});

describe('T5: an action that throws', () => {
  it('should affect neither its neighbours nor the next tick, and be reported as rxjs reports an unhandled error', () => {
    const reported = vi.fn();
    config.onUnhandledError = reported;
    const scheduler = new DelayScheduler(250);
    const error = new Error('broken');
    const failing = scheduler.schedule(() => {
      throw error;
    }, 100);
    const [neighbour, next] = [timed(scheduler, 100), timed(scheduler, 300)];
    vi.advanceTimersByTime(500);
    expect([neighbour.ran, next.ran]).toEqual([[250], [500]]);
    expect(reported.mock.calls).toEqual([[error]]);
    expect(failing.closed).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('should not run again, though it rescheduled itself before', () => {
    config.onUnhandledError = () => undefined;
    const ran = vi.fn();
    new DelayScheduler(250).schedule(function (this: SchedulerAction<unknown>) {
      ran();
      this.schedule(undefined, 250);
      throw new Error('broken');
    }, 100);
    vi.advanceTimersByTime(1000);
    expect(ran).toHaveBeenCalledOnce();
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('an action', () => {
  it('should be given its state', () => {
    const given = vi.fn();
    const scheduler = new DelayScheduler(250);
    scheduler.schedule(given, 100, { a: 1 });
    scheduler.schedule(given, 100);
    vi.advanceTimersByTime(250);
    expect(given.mock.calls).toEqual([[{ a: 1 }], [undefined]]);
  });

  it('should run again, with another state, if it reschedules itself', () => {
    const states: unknown[] = [];
    new DelayScheduler(250).schedule<number>(function (state = 0) {
      states.push([state, Date.now()]);
      if (state < 3) this.schedule(state + 1, 300);
    }, 100);
    vi.advanceTimersByTime(5000);
    expect(states).toEqual([
      [0, 250],
      [1, 750],
      [2, 1250],
      [3, 1750],
    ]);
  });

  it('should be moved if it is rescheduled before it ran', () => {
    const { ran, action } = timed(new DelayScheduler(250), 100);
    (action as SchedulerAction<unknown>).schedule(undefined, 600);
    expect(vi.getTimerCount()).toBe(1);
    vi.advanceTimersByTime(749);
    expect(ran).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(ran).toEqual([750]);
  });

  it('should be put off for ever by Infinity, and brought back', () => {
    const { ran, action } = timed(new DelayScheduler(250), 100);
    (action as SchedulerAction<unknown>).schedule(undefined, Infinity);
    expect(vi.getTimerCount()).toBe(0);
    (action as SchedulerAction<unknown>).schedule();
    vi.advanceTimersByTime(250);
    expect(ran).toEqual([0]);
  });

  it('should not run in the tick that runs it, though it asks for no delay', () => {
    const scheduler = new DelayScheduler(250);
    let turns = 0;
    scheduler.schedule(function (this: SchedulerAction<unknown>) {
      if (++turns < 1000) this.schedule();
    }, 250);
    const neighbour = timed(scheduler, 250);
    vi.advanceTimersByTime(249);
    vi.advanceTimersToNextTimer();
    expect([turns, neighbour.ran]).toEqual([1, [250]]);
  });

  it('should stay away once it is unsubscribed, though it reschedules itself', () => {
    const ran = vi.fn();
    const action = new DelayScheduler(250).schedule(function (this: SchedulerAction<unknown>) {
      ran();
      this.unsubscribe();
      expect(this.schedule(undefined, 250)).toBe(this);
    }, 100);
    vi.advanceTimersByTime(1000);
    expect(ran).toHaveBeenCalledOnce();
    expect(action.closed).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('it is a full SchedulerLike', () => {
  it('should have the clock of the scheduler below', () => {
    vi.setSystemTime(1234);
    expect(new DelayScheduler(250).now()).toBe(1234);
    expect(new DelayScheduler(250, { now: () => 7, schedule: () => of().subscribe() }).now()).toBe(7);
  });

  it(
    'should run `interval`',
    marbles(({ expectObservable, scheduler }) => {
      const ticks = interval(3, new DelayScheduler(5, scheduler)).pipe(take(3));
      expectObservable(ticks).toBe('-----0----1----(2|)', [0, 1, 2]);
    }),
  );

  it(
    'should run `timer`, and again for a second subscription',
    marbles(({ expectObservable, scheduler }) => {
      const tick = timer(3, new DelayScheduler(5, scheduler));
      expectObservable(tick, '^ ').toBe('-----(0|)', [0]);
      expectObservable(tick, '---^').toBe('----------(0|)', [0]);
      expectObservable(tick, '---^--!').toBe('-');
    }),
  );

  it(
    'should run `delay`',
    marbles(({ hot, expectObservable, scheduler }) => {
      const source = hot('-a-b---c---|');
      const expected = '  -----(ab)-c|';
      expectObservable(source.pipe(delay(2, new DelayScheduler(5, scheduler)))).toBe(expected);
    }),
  );

  it(
    'should run `debounceTime`',
    marbles(({ hot, expectObservable, scheduler }) => {
      const source = hot('-a-b--------c-----|');
      const expected = '  ----------b----c--|';
      expectObservable(source.pipe(debounceTime(3, new DelayScheduler(5, scheduler)))).toBe(expected);
    }),
  );

  it(
    'should bring each value of `delayWhen` and `timer` back at its own tick',
    marbles(({ cold, expectObservable, scheduler }) => {
      const delays = new DelayScheduler(5, scheduler);
      const source = cold('(abc|)');
      const expected = '   -----b----a----(c|)';
      const ms: Record<string, number> = { a: 7, b: 1, c: 15 };
      expectObservable(source.pipe(delayWhen((id) => timer(ms[id]!, delays)))).toBe(expected);
    }),
  );

  it(
    'should be let go of by a source that fails, or is unsubscribed',
    marbles(({ hot, expectObservable, scheduler }) => {
      const delays = new DelayScheduler(5, scheduler);
      expectObservable(hot('-a-#').pipe(delay(2, delays))).toBe('---#');
      expectObservable(hot('-a------').pipe(delay(2, delays)), '---!').toBe('-');
      expectObservable(hot('-').pipe(delay(2, delays))).toBe('-');
      expectObservable(hot('|').pipe(delay(2, delays))).toBe('|');
    }),
  );

  it(
    'should let an error of a callback go where it belongs',
    marbles(({ expectObservable, scheduler }) => {
      const failing = timer(3, new DelayScheduler(5, scheduler)).pipe(
        map(() => {
          throw 'broken' as unknown;
        }),
      );
      expectObservable(failing).toBe('-----#', undefined, 'broken');
    }),
  );

  it('should free all timers when the last subscription ends', () => {
    const scheduler = new DelayScheduler(250, asyncScheduler);
    const subscription = interval(100, scheduler).subscribe();
    subscription.add(of(1, 2, 3).pipe(delay(5000, scheduler)).subscribe());
    vi.advanceTimersByTime(1000);
    expect(vi.getTimerCount()).toBeGreaterThan(0);
    subscription.unsubscribe();
    expect(vi.getTimerCount()).toBe(0);
  });
});

it.each<[unknown, string]>([
  [0, '`0` (number)'],
  [-1, '`-1` (number)'],
  [NaN, '`NaN` (number)'],
  [Infinity, '`Infinity` (number)'],
  ['250', '`250` (string)'],
  [undefined, '`undefined`'],
])('should refuse a resolution of %s', (resolution, got) => {
  expect(() => new DelayScheduler(resolution as number)).toThrow(
    new TypeError(`Expected \`resolution\` to be a finite number > 0, got ${got}`),
  );
});

it.each([null, {}, 250])('should refuse %j for the scheduler below', (scheduler) => {
  expect(() => new DelayScheduler(250, scheduler as never)).toThrow(/^Expected `scheduler` to be a scheduler, got /);
});
