import { after } from 'kreconciler/operators';
import { marbles } from 'kreconciler/testing';
import { asyncScheduler, type SchedulerLike, VirtualTimeScheduler } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

const LONGEST = 2 ** 31 - 1;

describe('after', () => {
  it(
    'should emit once and complete',
    marbles(({ expectObservable, scheduler }) => {
      expectObservable(after(3, scheduler)).toBe('---(x|)', { x: 0 });
    }),
  );

  it(
    'should start anew for a second subscription',
    marbles(({ expectObservable, scheduler }) => {
      const delay = after(3, scheduler);
      expectObservable(delay, '^  ').toBe('---(x|)', { x: 0 });
      expectObservable(delay, '--^').toBe('-----(x|)', { x: 0 });
    }),
  );

  it(
    'should be silent once it is unsubscribed',
    marbles(({ expectObservable, scheduler }) => {
      expectObservable(after(3, scheduler), '--!').toBe('---');
    }),
  );

  it(
    'should not wait for what is no time',
    marbles(({ expectObservable, scheduler }) => {
      for (const none of [0, -1, -Infinity, NaN]) expectObservable(after(none, scheduler)).toBe('(x|)', { x: 0 });
    }),
  );

  it('should fail where its scheduler does', () => {
    const failing: SchedulerLike = {
      now: () => 0,
      schedule: () => {
        throw new Error('no time');
      },
    };
    const failed = vi.fn();
    after(3, failing).subscribe({ error: failed });
    expect(failed).toHaveBeenCalledWith(new Error('no time'));
  });
});

describe('T3: after more than a native timer takes', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => vi.useRealTimers());

  it.each([LONGEST, LONGEST + 1, 2 ** 32, 3 * LONGEST, 1e11])('should wait for %d ms, neither more nor less', (delay) => {
    const came = vi.fn();
    after(delay, asyncScheduler).subscribe(came);
    vi.advanceTimersByTime(delay - 1);
    expect(came).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(came).toHaveBeenCalledOnce();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('should hold one timer at a time, and none once it is unsubscribed', () => {
    const subscription = after(3 * LONGEST, asyncScheduler).subscribe();
    expect(vi.getTimerCount()).toBe(1);
    vi.advanceTimersByTime(2 * LONGEST);
    expect(vi.getTimerCount()).toBe(1);
    subscription.unsubscribe();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('should never come, and hold no timer, after Infinity', () => {
    const came = vi.fn();
    after(Infinity, asyncScheduler).subscribe({ next: came, complete: came });
    expect(vi.getTimerCount()).toBe(0);
    vi.advanceTimersByTime(1e12);
    expect(came).not.toHaveBeenCalled();
  });

  it('should ask no scheduler for a longer delay than a timer takes', () => {
    const scheduler = new VirtualTimeScheduler();
    const asked = vi.spyOn(scheduler, 'schedule');
    after(1e11, scheduler).subscribe();
    scheduler.flush();
    expect(asked.mock.calls.map(([, delay]) => delay)).toEqual([LONGEST]);
    expect(scheduler.frame).toBe(1e11);
  });
});
