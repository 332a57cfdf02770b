import type { Subscription } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { scheduled } from './scheduled.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

describe('a clock', () => {
  let subscription: Subscription | undefined;
  let times: string[] = [];
  beforeEach(() => {
    vi.useFakeTimers({ now: new Date('2026-03-28T00:00:00Z') });
    times = [];
  });
  afterEach(() => {
    subscription?.unsubscribe();
    expect(vi.getTimerCount()).toBe(0);
    vi.useRealTimers();
  });
  function start(pattern: string, list: () => Promise<readonly string[]> | readonly string[] = () => ['due'], timezone = 'UTC'): void {
    subscription = scheduled({ pattern, options: { timezone }, list }).subscribe(() => times.push(new Date().toISOString().slice(8, 16)));
  }

  it('should list at once, and at each time', async () => {
    start('0 * * * *');
    expect(times).toEqual(['28T00:00']);
    await vi.advanceTimersByTimeAsync(2 * HOUR);
    expect(times).toEqual(['28T00:00', '28T01:00', '28T02:00']);
  });

  it('should run a time that a clock jumps over, as a machine does that slept', async () => {
    start('0 3 * * *');
    await vi.advanceTimersByTimeAsync(MINUTE);
    vi.setSystemTime(new Date('2026-03-28T03:20:00Z'));
    await vi.advanceTimersByTimeAsync(MINUTE);
    expect(times).toEqual(['28T00:00', '28T03:20']);
  });

  it('should not pass over a day whose time is left out as summer begins', async () => {
    vi.setSystemTime(new Date('2026-03-29T00:00:00Z'));
    start('30 2 * * *', undefined, 'Europe/Berlin');
    await vi.advanceTimersByTimeAsync(3 * HOUR);
    // There is no half past two that day: at three, summer time.
    expect(times).toEqual(['29T00:00', '29T01:00']);
  });

  it('should try a list again that fails, until the next time', async () => {
    let lists = 0;
    start('0 * * * *', () => {
      lists++;
      return lists < 3 ? Promise.reject(new Error('no connection')) : Promise.resolve(['due']);
    });
    await vi.advanceTimersByTimeAsync(MINUTE);
    expect([lists, times]).toEqual([3, ['28T00:00']]);
  });

  it('should leave a list that hangs at the next time', async () => {
    let lists = 0;
    start('0 * * * *', () => (++lists === 1 ? new Promise(() => {}) : ['due']));
    await vi.advanceTimersByTimeAsync(HOUR);
    expect([lists, times]).toEqual([2, ['28T01:00']]);
  });

  it('should refuse a pattern that is none, at once', () => {
    expect(() => scheduled({ pattern: 'at three', list: () => [] })).toThrow(TypeError);
  });
});
