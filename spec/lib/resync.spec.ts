import { concat, NEVER, type Observable, of, Subject, take, takeUntil, throwError, timer, toArray, map, VirtualTimeScheduler } from 'rxjs';
import { describe, expect, it, vi } from 'vitest';
import { constant, type Logger, noopLogger, reconcile, resync, type ResyncConfig } from 'kreconciler';
import { marbles } from 'kreconciler/testing';
import { Clock } from '../support/clock.js';

const silent = { observability: { logger: noopLogger } };

describe('resync', () => {
  it(
    'Y1 should list at once, then every `every` ms',
    marbles(({ expectObservable }) => {
      const list = (): string[] => ['a'];
      expectObservable(resync({ every: 5, list, ...silent }), '-----------!').toBe('a----a----a-');
    }),
  );

  it(
    'Y1 should list one at a time, without a burst after a slow one',
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const slow = cold('          -------(a|)');
      const rounds = ['            ^------!', '          ----------^------!', '          --------------------^!'];
      const unsubscribed = '       ---------------------!';
      const expected = '           -------a---------a----';
      expectObservable(resync({ every: 5, list: () => slow, ...silent }), unsubscribed).toBe(expected);
      expectSubscriptions(slow.subscriptions).toBe(rounds);
    }),
  );

  it(
    'should take single ids and batches, in one list or many',
    marbles(({ expectObservable }) => {
      const list = (): Observable<string | string[]> => of('a', ['b', 'c'], [], 'd');
      expectObservable(resync({ every: 10, list, ...silent }), '---!').toBe('(abcd)');
    }),
  );

  const boom = new Error('boom');

  it('Y2 should log a failing list and try it again with backoff, until the next round begins anew', () => {
    const logged: unknown[] = [];
    const logger: Logger = { ...noopLogger, warn: (message, fields) => logged.push([message, fields]) };
    marbles(({ expectObservable }) => {
      let failures = 2;
      const list = (): Observable<string> => (failures-- > 0 ? throwError(() => boom) : of('a'));
      const config = { every: 10, list, backoff: (n: number) => n * 2, observability: { logger } };
      //                                             fails at 0 and 2
      expectObservable(resync(config), '-----------------------!').toBe('------a---a---------a---');
    })();
    expect(logged).toEqual([
      ['Listing all ids failed, trying again', { error: boom, failures: 1, delay: 2 }],
      ['Listing all ids failed, trying again', { error: boom, failures: 2, delay: 4 }],
    ]);
  });

  it.each<[string, ResyncConfig['list']]>([
    [
      'throws',
      () => {
        throw new Error('boom');
      },
    ],
    ['returns no list', (() => 5) as never],
  ])('Y2 should take a list that %s for one that failed', (_, bad) => {
    marbles(({ expectObservable }) => {
      let first = true;
      const list: ResyncConfig['list'] = (signal) => {
        if (!first) return ['a'];
        first = false;
        return bad(signal);
      };
      expectObservable(resync({ every: 10, list, backoff: constant(3), ...silent }), '-----!').toBe('---a--');
    })();
  });

  it.each([
    () => NaN,
    () => Infinity,
    () => -1,
    () => 'x' as never,
    () => {
      throw new Error('backoff');
    },
  ])('Y2 should survive a backoff that answers no delay: %#', (backoff) => {
    marbles(({ expectObservable }) => {
      let first = true;
      const list = (): string[] => {
        if (!first) return ['a'];
        first = false;
        throw new Error('list');
      };
      expectObservable(resync({ every: 400, list, backoff, ...silent }), '500ms !').toBe('250ms a 149ms a');
    })();
  });

  it('Y2 should abort a list that hangs, and try it again', () => {
    const signals: AbortSignal[] = [];
    marbles(({ expectObservable }) => {
      const list = (signal: AbortSignal): Observable<string> => (signals.push(signal) === 1 ? NEVER : of('a'));
      expectObservable(resync({ every: 100, list, timeout: 5, backoff: constant(2), ...silent }), '---------!').toBe('-------a--');
    })();
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
  });

  it('Y2 should stop a list at once when it is let go', () => {
    const signals: AbortSignal[] = [];
    const list = (signal: AbortSignal): Promise<string[]> => {
      signals.push(signal);
      return new Promise(() => undefined);
    };
    vi.useFakeTimers();
    const subscription = resync({ every: 100, list, ...silent }).subscribe();
    subscription.unsubscribe();
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
    expect(vi.getTimerCount()).toBe(0);
    vi.useRealTimers();
  });

  it('Y3 should let every id run within a bounded number of rounds, with more ids than the queue holds', () => {
    const ids = Array.from({ length: 1000 }, (_, i) => `id-${String(i)}`);
    const ran = new Map<string, number>();
    let round = 0;
    let most = 0;
    const scheduler = new VirtualTimeScheduler();
    scheduler.maxFrames = 200_000;
    const list = (): string[] => {
      round++;
      return ids;
    };
    // Ten times more ids than the queue holds, and just that many are run in a round.
    const reconciler = (id: string): Observable<void> => {
      most = Math.max(most, round - (ran.get(id) ?? 0));
      ran.set(id, round);
      return timer(10, scheduler).pipe(map(() => undefined));
    };
    resync({ every: 1000, list, scheduler, ...silent })
      .pipe(reconcile(reconciler, { workerQueueSize: 100, scheduler }))
      .subscribe();
    scheduler.flush();
    expect(ran.size).toBe(ids.length);
    expect(most).toBeLessThanOrEqual(30);
  });

  it.each([1, 2, 10, 33])('Y3 should emit each id once a round, wherever it starts: %i ids', (count) => {
    marbles(({ flush }) => {
      const ids = Array.from({ length: count }, (_, i) => String(i));
      const seen: string[][] = [];
      for (let round = 0; round < 4; round++) {
        resync({ every: 1, list: () => [ids], ...silent })
          .pipe(take(count * (round + 1)), toArray())
          .subscribe((all) => seen.push(all.slice(-count)));
      }
      flush();
      for (const round of seen) expect(new Set(round)).toEqual(new Set(ids));
      expect(seen[0]).toEqual(ids);
      if (count > 2) expect(seen[1]).not.toEqual(ids);
    })();
  });

  it('Y3 should let every id run when it is subscribed to anew before a round has passed', () => {
    const ids = Array.from({ length: 100 }, (_, i) => `id-${String(i)}`);
    const ran = new Set<string>();
    const scheduler = new VirtualTimeScheduler();
    scheduler.maxFrames = 10_000_000;
    const all = resync({ every: 60_000, list: () => [ids], scheduler, ...silent });
    const reconciler = (id: string): Observable<void> => {
      ran.add(id);
      return timer(10, scheduler).pipe(map(() => undefined));
    };
    const term = all.pipe(takeUntil(timer(50_000, scheduler)));
    concat(...Array.from({ length: 200 }, () => term))
      .pipe(reconcile(reconciler, { workerQueueSize: 10, scheduler }))
      .subscribe();
    scheduler.flush();
    expect(ran.size).toBe(ids.length);
  });

  it('Y1, F3 should have one list at a time, also of those that hang and ignore their signal', () => {
    const clock = new Clock();
    const list = vi.fn(() => new Promise<string[]>(() => undefined));
    const all = resync({ every: 100, timeout: 100, list, scheduler: clock, ...silent });
    const term = all.subscribe();
    clock.advance(3_000);
    expect(list).toHaveBeenCalledTimes(1);
    term.unsubscribe();
    all.subscribe();
    clock.advance(3_000);
    expect(list).toHaveBeenCalledTimes(1);
  });

  describe('jitter', () => {
    it.each([
      [0, 'a---------a---------a--'],
      [0.5, 'a---------a---------a--'],
      [0.75, 'a-----------a----------'],
      [0.25, 'a-------a-------a------'],
    ])('should make each period longer or shorter by its share, the first list apart: %d', (drawn, expected) => {
      marbles(({ expectObservable }) => {
        const config = { every: 10, list: () => ['a'], jitter: drawn === 0 ? 0 : 0.4, random: () => drawn, ...silent };
        expectObservable(resync(config), '----------------------!').toBe(expected);
      })();
    });
  });

  describe('spread', () => {
    /** How many ids came at which ms. */
    function spreadOf(count: number, spread: number, every = 10_000): Map<number, number> {
      const clock = new Clock();
      const came = new Map<number, number>();
      const list = (): string[] => Array.from({ length: count }, (_, i) => `id-${String(i)}`);
      resync({ every, list: () => [list()], spread, scheduler: clock, ...silent }).subscribe(() => {
        came.set(clock.now(), (came.get(clock.now()) ?? 0) + 1);
      });
      clock.advance(every - 1);
      expect([...came.values()].reduce((sum, n) => sum + n, 0)).toBe(count);
      return came;
    }

    it('should let the ids of a round come evenly over its ms', () => {
      const came = spreadOf(100_000, 10_000);
      expect([...came.keys()]).toEqual(Array.from({ length: 100 }, (_, i) => i * 100));
      expect(new Set(came.values())).toEqual(new Set([1_000]));
    });

    it.each([
      [3, 1_000, [0, 333, 667]],
      [1, 1_000, [0]],
      [0, 1_000, []],
      [50, 0, [0]],
    ])('should do so with %i ids in %i ms', (count, spread, moments) => {
      expect([...spreadOf(count, spread).keys()].map(Math.round)).toEqual(moments);
    });

    it('should not delay the next list, and leave no timer when it is let go', () => {
      const clock = new Clock();
      const list = vi.fn(() => [['apple', 'pear', 'plum']]);
      const subscription = resync({ every: 1_000, list, spread: 1_000, scheduler: clock, ...silent }).subscribe();
      clock.advance(5_500);
      expect(list).toHaveBeenCalledTimes(6);
      subscription.unsubscribe();
      clock.advance(1);
      expect(clock.timers).toBe(0);
    });
  });

  describe('relistOn', () => {
    it('should be heard during a list that is over when it has begun', () => {
      const created = new Subject<void>();
      let listed = 0;
      const list = (): string[] => {
        if (++listed === 1) created.next();
        return ['web'];
      };
      resync({ every: 1_000, list, relistOn: created, scheduler: new Clock(), ...silent })
        .subscribe()
        .unsubscribe();
      expect(listed).toBe(2);
    });

    it(
      'should list at once, beside the periods',
      marbles(({ hot, expectObservable }) => {
        const relistOn = hot('                                               ---r----r------------');
        expectObservable(resync({ every: 10, list: () => ['a'], relistOn, ...silent }), '---------------------!').toBe(
          'a--a----a-a---------a',
        );
      }),
    );

    it(
      'should list once more after the list under way, however often it emits',
      marbles(({ cold, hot, expectObservable, expectSubscriptions }) => {
        const relistOn = hot(' -rrr-----------------');
        const slow = cold('    -----(a|)            ');
        const rounds = ['      ^----!               ', '-----^----!          '];
        const unsubscribed = ' ---------------------!';
        const expected = '     -----a----a----------';
        expectObservable(resync({ every: 100, list: () => slow, relistOn, ...silent }), unsubscribed).toBe(expected);
        expectSubscriptions(slow.subscriptions).toBe(rounds);
      }),
    );

    it('should go on by time when it fails or completes, and say so', () => {
      const warn = vi.fn();
      const observability = { logger: { ...noopLogger, warn } };
      marbles(({ cold, expectObservable }) => {
        expectObservable(resync({ every: 5, list: () => ['a'], relistOn: cold('--#'), observability }), '------!').toBe('a----a-');
        expectObservable(resync({ every: 5, list: () => ['a'], relistOn: cold('--|'), observability }), '------!').toBe('a----a-');
      })();
      expect(warn).toHaveBeenCalledExactlyOnceWith('`relistOn` failed: from now on all ids are listed only by time', { error: 'error' });
    });
  });

  it(
    'should list for each subscription by itself',
    marbles(({ expectObservable }) => {
      const shared = resync({ every: 3, list: () => ['a'], ...silent });
      expectObservable(shared, '-----!').toBe('     a--a--');
      expectObservable(shared, '--^----!').toBe('   --a--a--');
    }),
  );

  it('should honour an `every` of more than 2^31-1 ms', () => {
    vi.useFakeTimers();
    const list = vi.fn(() => ['a']);
    const subscription = resync({ every: 2 ** 32, list, ...silent }).subscribe();
    vi.advanceTimersByTime(2 ** 32 - 1);
    expect(list).toHaveBeenCalledTimes(1);
    vi.advanceTimersByTime(1);
    expect(list).toHaveBeenCalledTimes(2);
    subscription.unsubscribe();
    vi.useRealTimers();
  });

  it('should not be ended by a subject that completes late or never', () => {
    const late = new Subject<string>();
    const seen: string[] = [];
    const subscription = resync({ every: 1000, list: () => concat(of('a'), late), ...silent }).subscribe((id) => seen.push(id));
    expect(seen).toEqual([]);
    late.complete();
    expect(seen).toEqual(['a']);
    subscription.unsubscribe();
  });

  it.each<[object, string]>([
    [{ every: 0 }, 'Expected `every` to be a finite number of ms > 0, got `0` (number)'],
    [{ every: Infinity }, 'Expected `every` to be a finite number of ms > 0, got `Infinity` (number)'],
    [{ jitter: 2 }, 'Expected `jitter` to be a number from 0 to 1, got `2` (number)'],
    [{ random: 1 }, 'Expected `random` to be a function, got `1` (number)'],
    [{ spread: 1001 }, 'Expected `spread` to be a number of ms from 0 to `every`, got `1001` (number)'],
    [{ relistOn: 'now' }, 'Expected `relistOn` to be an Observable, promise or iterable, got `now` (string)'],
    [{ list: [] }, 'Expected `list` to be a function, got `[]` (object)'],
    [{ timeout: 0 }, 'Expected `timeout` to be a number of ms > 0, got `0` (number)'],
    [{ backoff: 5 }, 'Expected `backoff` to be a function, got `5` (number)'],
    [{ observability: null }, 'Expected `observability` to be an Observability with a logger, got `null`'],
    [{ scheduler: {} }, 'Expected `scheduler` to be a scheduler, got `{}` (object)'],
  ])('should refuse at once: %j', (bad, message) => {
    expect(() => resync({ every: 1000, list: () => [], ...bad })).toThrow(new TypeError(message));
  });

  it('should refuse at once a configuration that is none', () => {
    expect(() => resync(undefined as never)).toThrow(new TypeError('Expected `config` to be an object, got `undefined`'));
  });

  it('should not be ended by a logger that throws', () => {
    const logger: Logger = {
      ...noopLogger,
      warn: () => {
        throw new Error('disk full');
      },
    };
    const list = vi
      .fn(() => ['a'])
      .mockImplementationOnce(() => {
        throw new Error('down');
      });
    const clock = new Clock();
    const ids: string[] = [];
    resync({ every: 1000, list, observability: { logger }, scheduler: clock }).subscribe((id) => ids.push(id));
    clock.advance(999);
    expect(ids).toEqual(['a']);
  });
});
