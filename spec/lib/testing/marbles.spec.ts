import { constant, reconcile, type Step } from 'kreconciler/operators';
import { marbles, type StepRows } from 'kreconciler/testing';
import { concat, delay, interval, map, NEVER, type Observable, of, Subject, throwError, timer } from 'rxjs';
import { describe, expect, it } from 'vitest';

/** What the failing test prints. */
function messageOf(test: () => void): string {
  try {
    test();
  } catch (error) {
    return (error as Error).message;
  }
  return 'it passed';
}

const fails = () => {
  throw new Error('no');
};

describe('marbles', () => {
  it(
    'should picture the steps of a loop, one row a kind',
    marbles(({ hot, scheduler, expectSteps }) => {
      const events = hot('               a--b|');
      const loop = reconcile((id) => (id === 'a' ? timer(2).pipe(map(() => undefined)) : undefined), { scheduler });
      expectSteps(events.pipe(loop)).toBe({
        enqueued: '                      a--b',
        started: '                       a--b',
        succeeded: '                     --ab|',
      });
    }),
  );

  it(
    'should end with the longest row, though the loop requeues for ever',
    marbles(({ hot, scheduler, expectSteps }) => {
      const events = hot('a');
      expectSteps(events.pipe(reconcile(() => ({ requeueDelay: 250 }), { scheduler }))).toBe({
        started: '        a 249ms a 249ms a',
        requeued: '       a 249ms a 249ms a',
      });
    }),
  );

  it(
    'should end an endless source of another kind, too',
    marbles(({ expectObservable }) => {
      expectObservable(interval(2).pipe(map((i) => `${i}`))).toBe('--0-1-2-');
    }),
  );

  it(
    'should let marbles stand for longer ids',
    marbles(({ hot, scheduler, expectSteps }) => {
      const events = hot('  a-b', { a: 'web', b: 'db' });
      expectSteps(events.pipe(reconcile(() => undefined, { scheduler }))).toBe({ started: 'a-b' }, { a: 'web', b: 'db' });
    }),
  );

  it(
    'should expect the error that ends the steps',
    marbles(({ cold, scheduler, expectSteps }) => {
      const events = cold('a-#');
      expectSteps(events.pipe(reconcile(() => undefined, { scheduler }))).toBe({ started: 'a', succeeded: 'a-#' });
    }),
  );

  it.each<[string, string, string]>([
    ['complete', '-a-|', '---|'],
    ['fail', '    -a-#', '---#'],
    ['go on', '   -a--', '----'],
  ])('should take a row of its own for where the steps %s', (_, source, ends) => {
    marbles(({ hot, scheduler, expectSteps }) => {
      expectSteps(hot(source).pipe(reconcile(() => undefined, { scheduler }))).toBe({ started: '-a', ends });
    })();
  });

  it(
    'should look only at the kinds that have a row, unless it is to be exactly these',
    marbles(({ hot, scheduler, expectSteps }) => {
      const events = hot('     ab-|');
      const steps = events.pipe(reconcile(() => undefined, { scheduler }));
      expectSteps(steps).toBe({ started: 'ab-|' });
      expectSteps(steps).toBeExactly({
        enqueued: '            ab',
        started: '             ab',
        succeeded: '           ab-|',
      });
      expectSteps(NEVER).toBeExactly({});
    }),
  );

  it(
    'should subscribe and unsubscribe when it is told to',
    marbles(({ cold, scheduler, expectSteps, expectSubscriptions }) => {
      const events = cold('    a-b-c-d-|');
      const subscription = ' --^--!';
      expectSteps(events.pipe(reconcile(() => undefined, { scheduler })), subscription).toBeExactly({
        enqueued: '            --a-b',
        started: '             --a-b',
        succeeded: '           --a-b',
      });
      expectSubscriptions(events.subscriptions).toBe(subscription);
    }),
  );

  it(
    'should unsubscribe before what comes in the same frame, as `expectObservable` does',
    marbles(({ cold, expectObservable, expectSteps }) => {
      const steps = cold<Step>('   -a', { a: { kind: 'merged', id: 'a', worker: 0, at: 1 } });
      expectObservable(steps, '^!').toBe('--');
      expectSteps(steps, '      ^!').toBeExactly({});
      expectSteps(steps, '      ^-!').toBeExactly({ merged: '-a' });
    }),
  );

  it(
    'should pass on the helpers of the TestScheduler, and flush on demand',
    marbles(({ cold, hot, time, flush, expectObservable, expectSubscriptions }) => {
      const source = cold(' --a|');
      const subscription = '^--!';
      expectObservable(source.pipe(delay(time('-|')))).toBe('---(a|)');
      expectObservable(hot('a^-b'), '^--!').toBe('--b', undefined);
      expectSubscriptions(source.subscriptions).toBe([subscription]);
      flush();
      expectObservable(of(1)).toBe('---(a|)', { a: 1 });
    }),
  );

  it('should see what comes later than the longest row, where only Observables are expected', () => {
    expect(
      messageOf(
        marbles(({ cold, expectObservable }) => {
          expectObservable(cold('a|').pipe(delay(10))).toBe('');
        }),
      ),
    ).toContain('first difference, at 10 ms');
  });

  it('should say what still ran when time ended, for no promise settles in marbles', () => {
    const test = marbles(({ hot, scheduler, expectSteps }) => {
      expectSteps(hot('ab').pipe(reconcile((id) => (id === 'a' ? undefined : Promise.resolve()), { scheduler }))).toBe({ succeeded: 'ab' });
    });
    expect(messageOf(test)).toBe(
      [
        'Expected the steps',
        'succeeded  ab',
        'but they were',
        'succeeded  a',
        '            ^ first difference, at 1 ms',
        'b still ran when time ended; for what takes a promise there is `virtualTime`',
      ].join('\n'),
    );
  });

  it('should show both diagrams of steps, and mark the first frame that differs', () => {
    const test = marbles(({ hot, scheduler, expectSteps }) => {
      const events = hot('a-b', { a: 'web', b: 'database' });
      expectSteps(events.pipe(reconcile(fails, { scheduler, backoff: constant(1000) }))).toBe(
        { enqueued: 'w-d', started: 'w-d', requeued: 'wd' },
        { w: 'web', d: 'database' },
      );
    });
    expect(messageOf(test)).toBe(
      [
        'Expected the steps',
        'enqueued  w-d',
        'started   w-d',
        'requeued  wd',
        'but they were',
        'enqueued  w-d',
        'started   w-d',
        'requeued  w-d',
        '           ^ first difference, at 1 ms',
        'where w = web, d = database',
      ].join('\n'),
    );
  });

  it('should show the kinds that were not expected, and none that neither were nor are', () => {
    const test = marbles(({ hot, scheduler, expectSteps }) => {
      expectSteps(hot('a-b|').pipe(reconcile(fails, { scheduler, maxItemRetries: 0 }))).toBeExactly({
        enqueued: 'a-b',
        started: 'a-b',
        merged: '',
        ends: '---|',
      });
    });
    expect(messageOf(test)).toBe(
      [
        'Expected the steps',
        'enqueued  a-b',
        'started   a-b',
        'merged',
        'ends      ---|',
        'dropped',
        'but they were',
        'enqueued  a-b',
        'started   a-b',
        'merged',
        'ends      ---|',
        'dropped   a-b',
        '          ^ first difference, at 0 ms',
      ].join('\n'),
    );
  });

  it.each<[string, Observable<Step>, StepRows, string[]]>([
    [
      'an end that was not expected',
      of(),
      {},
      ['Expected the steps', 'ends', 'but they were', 'ends  |', '      ^ first difference, at 0 ms'],
    ],
    [
      'an end that did not come',
      NEVER,
      { ends: '--|' },
      ['Expected the steps', 'ends  --|', 'but they were', 'ends', '        ^ first difference, at 2 ms'],
    ],
    [
      'an end in a row of steps',
      NEVER,
      { started: '|' },
      ['Expected the steps', 'started', 'ends     |', 'but they were', 'started', 'ends', '         ^ first difference, at 0 ms'],
    ],
  ])('should show, in a row of its own, %s', (_, steps, rows, lines) => {
    expect(
      messageOf(
        marbles(({ expectSteps }) => {
          expectSteps(steps).toBeExactly(rows);
        }),
      ),
    ).toBe(lines.join('\n'));
  });

  it.each<[string, Observable<Step>, string, RegExp]>([
    ['a step that is missing', NEVER, '-a', /difference, at 1 ms/],
    ['an end that is missing', NEVER, '---|', /difference, at 3 ms/],
    ['an end that is too early', timer(2).pipe(map(() => ({}) as Step)), '-----|', /difference, at 2 ms/],
    ['an error instead of an end', throwError(() => new Error('broken')), '|', /# = Error: broken/],
  ])('should fail for %s', (_, steps, started, message) => {
    expect(
      messageOf(
        marbles(({ expectSteps }) => {
          expectSteps(steps).toBe({ started });
        }),
      ),
    ).toMatch(message);
  });

  it('should show both diagrams of values, and mark the first frame that differs', () => {
    const test = marbles(({ cold, expectObservable }) => {
      expectObservable(
        concat(
          cold('a-b|', { a: 1, b: { c: 2 } }),
          throwError(() => new RangeError('why')),
        ),
      ).toBe('a--b|', { a: 1, b: { c: 2 } });
    });
    expect(messageOf(test)).toBe(
      [
        'Expected  1--a|',
        'but got   1-a#',
        '            ^ first difference, at 2 ms',
        'where a = { c: 2 }',
        'actual # = RangeError: why',
      ].join('\n'),
    );
  });

  it('should show both diagrams of subscriptions, and mark the first frame that differs', () => {
    const test = marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source = cold('a--|');
      expectObservable(source).toBe('a--|');
      expectSubscriptions(source.subscriptions).toBe('^-- 6ms !');
    });
    expect(messageOf(test)).toBe(
      ['Expected the subscriptions', '  ^--------!', 'but they were', '  ^--!', '     ^ first difference, at 3 ms'].join('\n'),
    );
  });

  it.each<[string, Record<string, string>, RegExp]>([
    [
      'rows that end at different times',
      { started: 'a-|', succeeded: 'a--|' },
      /rows to end alike, got `\|` at 2 ms in `started` and `\|` at 3 ms in `succeeded`/,
    ],
    ['rows that end in different ways', { started: 'a-|', succeeded: 'a-#' }, /rows to end alike/],
    [
      'a row that goes on after the end of another',
      { started: 'a-|', succeeded: 'a--b' },
      /nothing after `\|` at 2 ms in `started`, got `b` \(string\) at 3 ms/,
    ],
    ['no rows, which would expect nothing', {}, /`rows` to be an object with at least one row, got `\{\}`/],
    ['rows that are no object', 'a' as never, /`rows` to be an object, got `a` \(string\)/],
    ['a row that is no kind of step', { begun: 'a' }, /`rows` to be named after kinds of steps.*got `begun`/],
    [
      'an end that is not where the row `ends` has it',
      { started: 'a-|', ends: '---|' },
      /rows to end alike, got `\|` at 2 ms in `started` and `\|` at 3 ms in `ends`/,
    ],
    ['a step behind the row `ends`', { started: 'a--b', ends: '--#' }, /nothing after `#` at 2 ms in `ends`, got `b`/],
    ['an id in the row `ends`', { ends: 'a-|' }, /the row `ends` to have no marbles but `\|` or `#`, got `a` \(string\)/],
    ['a bracket that stays open', { started: '(ab' }, /`started` to have its brackets in pairs/],
    ['a bracket too many', { started: 'ab)' }, /brackets in pairs/],
    ['marks of subscriptions', { started: '^a' }, /no subscription marks/],
    ['two ends', { started: 'a|-|' }, /end once/],
    ['a marble behind the end', { started: '|-a' }, /nothing behind its end/],
    ['a row that is no string', { started: 3 as unknown as string }, /a string of marbles, got `3` \(number\)/],
  ])('should refuse %s', (_, rows, message) => {
    expect(
      messageOf(
        marbles(({ expectSteps }) => {
          expectSteps(NEVER).toBe(rows);
        }),
      ),
    ).toMatch(message);
  });

  it('should refuse a body that is asynchronous, or none', () => {
    // eslint-disable-next-line @typescript-eslint/no-misused-promises -- that is the mistake
    expect(messageOf(marbles(() => Promise.resolve()))).toMatch(/cannot see promises, use `virtualTime`/);
    expect(() => marbles(undefined as unknown as () => void)).toThrow('Expected `body` to be a function, got `undefined`');
  });

  it('should keep its tests apart from each other', () => {
    const steps = new Subject<Step>();
    const test = marbles(({ expectSteps }) => {
      expectSteps(steps).toBe({ started: '' });
    });
    test();
    test();
    expect(steps.observed).toBe(true);
  });
});
