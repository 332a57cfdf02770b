import { concat, defer, EMPTY, ignoreElements, NEVER, type Observable, type SchedulerLike, Subscription, throwError, timer } from 'rxjs';
import { describe, expect, it, vi } from 'vitest';
import { type Backoff, constant, exponential, type Logger, noopLogger } from 'kreconciler';
import { virtualTime } from 'kreconciler/testing';
import { reconnecting } from '../../lib/reconnecting.js';

const backoff = exponential({ initial: 250, max: 30_000, jitter: 0 });

/** A connection that works at once and is lost `lifetime` ms later, again and again; and when each one began. */
function connections(lifetime: number, scheduler: SchedulerLike, config: { backoff?: Backoff; logger?: Logger } = {}) {
  const begun: number[] = [];
  const lost = timer(lifetime, scheduler).pipe(ignoreElements());
  const attempt = (succeeded: () => void): Observable<never> => {
    begun.push(scheduler.now());
    succeeded();
    return concat(
      lost,
      throwError(() => new Error('lost')),
    );
  };
  const subscription = reconnecting(attempt, { backoff, scheduler, logger: noopLogger, what: 'It', ...config }).subscribe();
  return { begun, subscription };
}

describe('reconnecting', () => {
  it('F4 should go on waiting longer where each connection works and is lost again', () =>
    virtualTime(async ({ scheduler, advance }) => {
      const { begun, subscription } = connections(20, scheduler);
      await advance(12_000);
      expect(begun).toEqual([0, 270, 790, 1_810, 3_830, 7_850]);
      subscription.unsubscribe();
    }));

  it.each<[string, Backoff, number]>([
    ['as the longest delay', backoff, 30_000],
    ['as the only delay', constant(250), 250],
    ['as a minute, where the longest delay is longer', exponential({ initial: 250, max: 3_600_000, jitter: 0 }), 60_000],
    ['as a minute, where nobody knows the longest delay', (failures) => 250 * failures, 60_000],
  ])('F4 should begin anew once a connection has lasted as long %s', (_, backoff, enough) =>
    virtualTime(async ({ scheduler, advance }) => {
      const asked = vi.fn(backoff);
      const known = Object.assign(asked, backoff);
      const short = connections(enough - 1, scheduler, { backoff: known });
      await advance(2 * enough + 1_000);
      expect(asked.mock.calls.map(([failures]) => failures).slice(0, 2)).toEqual([1, 2]);
      short.subscription.unsubscribe();
      asked.mockClear();
      const long = connections(enough, scheduler, { backoff: known });
      await advance(2 * enough + 1_000);
      expect(asked.mock.calls.map(([failures]) => failures).slice(0, 2)).toEqual([1, 1]);
      long.subscription.unsubscribe();
    }),
  );

  it('should leave no timer behind', () =>
    virtualTime(({ scheduler }) => {
      const schedule = vi.spyOn(scheduler, 'schedule');
      const source = reconnecting(
        (succeeded) => {
          succeeded();
          succeeded();
          return NEVER;
        },
        { backoff, scheduler, logger: noopLogger, what: 'It' },
      );
      source.subscribe().unsubscribe();
      expect(schedule.mock.results.map(({ value }) => (value as { closed: boolean }).closed)).toEqual([true]);
      return Promise.resolve();
    }));

  it('should complete with what completes, however short it was', () => {
    const schedule = vi.fn();
    const completed = vi.fn();
    const scheduler: SchedulerLike = { now: () => 0, schedule: () => (schedule(), new Subscription()) };
    const attempt = (succeeded: () => void) => defer(() => (succeeded(), EMPTY));
    reconnecting(attempt, { backoff, scheduler, logger: noopLogger, what: 'It' }).subscribe({ complete: completed });
    expect(schedule).toHaveBeenCalledOnce();
    expect(completed).toHaveBeenCalledOnce();
  });

  it('should go on where the logger throws', () =>
    virtualTime(async ({ scheduler, advance }) => {
      const logger: Logger = {
        ...noopLogger,
        warn: () => {
          throw new Error('the disk is full');
        },
      };
      const { begun, subscription } = connections(20, scheduler, { logger });
      await advance(1_000);
      expect(begun).toEqual([0, 270, 790]);
      subscription.unsubscribe();
    }));
});
