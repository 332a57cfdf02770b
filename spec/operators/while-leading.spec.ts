import { whileLeading } from 'kreconciler/operators';
import { marbles } from 'kreconciler/testing';
import { defer, NEVER, of, Subject } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { foreign } from '../support/foreign-observable.js';

const leads = { t: true, f: false };

describe('whileLeading', () => {
  it(
    'L1 should not subscribe to the source before leading',
    marbles(({ cold, hot, expectObservable, expectSubscriptions }) => {
      const leader = hot('  f--t-----', leads);
      const source = cold('    -a-b-c ');
      const expected = '    ----a-b-c';
      const subscriptions = '---^     ';
      expectObservable(source.pipe(whileLeading(leader))).toBe(expected);
      expectSubscriptions(source.subscriptions).toBe(subscriptions);
    }),
  );

  it(
    'L2, L3 should let go of the source on loss, and subscribe anew on regain',
    marbles(({ cold, hot, expectObservable, expectSubscriptions }) => {
      const leader = hot('  t---f---t---', leads);
      const source = cold(' -a-b-c-d');
      const expected = '    -a-b-----a-b-c-d';
      const first = '       ^---!';
      const second = '      --------^   ';
      expectObservable(source.pipe(whileLeading(leader))).toBe(expected);
      expectSubscriptions(source.subscriptions).toBe([first, second]);
    }),
  );

  it(
    'L3 should subscribe once, however often the signal repeats',
    marbles(({ cold, hot, expectObservable, expectSubscriptions }) => {
      const leader = hot('  t-t-t-f-f-', leads);
      const source = cold(' -a-b-c-d');
      const expected = '    -a-b-c----';
      const subscriptions = '^-----!---';
      expectObservable(source.pipe(whileLeading(leader))).toBe(expected);
      expectSubscriptions(source.subscriptions).toBe(subscriptions);
    }),
  );

  it(
    'L4 should go on leading when the leader completes while it says true',
    marbles(({ cold, hot, expectObservable, expectSubscriptions }) => {
      const leader = hot('  t-|', leads);
      const source = cold(' -a-b-c-|');
      const expected = '    -a-b-c-|';
      expectObservable(source.pipe(whileLeading(leader))).toBe(expected);
      expectSubscriptions(leader.subscriptions).toBe('^-!');
    }),
  );

  it(
    'L4 should never lead again when the leader completes while it says false, or says nothing',
    marbles(({ cold, hot, expectObservable }) => {
      expectObservable(cold('-a-|').pipe(whileLeading(hot('t-f|', leads)))).toBe('-a--');
      expectObservable(cold('-a-|').pipe(whileLeading(hot<boolean>('|')))).toBe('----');
    }),
  );

  it(
    'should complete when the source completes while leading, and let go of the leader',
    marbles(({ cold, hot, expectObservable, expectSubscriptions }) => {
      const leader = hot('  -t----------', leads);
      const source = cold('  -a-|');
      const expected = '    --a-|';
      expectObservable(source.pipe(whileLeading(leader))).toBe(expected);
      expectSubscriptions(leader.subscriptions).toBe('^---!');
    }),
  );

  it(
    'should complete with an empty source, but only once it leads',
    marbles(({ cold, hot, expectObservable }) => {
      expectObservable(cold('|').pipe(whileLeading(hot('--t-', leads)))).toBe('--|');
    }),
  );

  it(
    'should never complete while the source never does',
    marbles(({ cold, hot, expectObservable }) => {
      expectObservable(cold('-').pipe(whileLeading(hot('t-|', leads)))).toBe('-');
    }),
  );

  it(
    'should fail with the source, and let go of the leader',
    marbles(({ cold, hot, expectObservable, expectSubscriptions }) => {
      const leader = hot('t--------', leads);
      expectObservable(cold('-a-#').pipe(whileLeading(leader))).toBe('-a-#');
      expectSubscriptions(leader.subscriptions).toBe('^--!');
    }),
  );

  it(
    'should fail with the leader, and let go of the source',
    marbles(({ cold, hot, expectObservable, expectSubscriptions }) => {
      const source = cold('-a-b-c-');
      expectObservable(source.pipe(whileLeading(hot('t--#', leads)))).toBe('-a-#');
      expectSubscriptions(source.subscriptions).toBe('^--!');
    }),
  );

  it(
    'should let go of both when it is unsubscribed',
    marbles(({ cold, hot, expectObservable, expectSubscriptions }) => {
      const leader = hot(' t------', leads);
      const source = cold('-a-b-c-');
      expectObservable(source.pipe(whileLeading(leader)), '----!').toBe('-a-b-');
      expectSubscriptions(source.subscriptions).toBe('^---!');
      expectSubscriptions(leader.subscriptions).toBe('^---!');
    }),
  );

  it(
    'should gate a second subscription by itself',
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const leader = cold('-t--', leads);
      const gated = cold('a-|').pipe(whileLeading(leader));
      expectObservable(gated, '^   ').toBe('-a-|');
      expectObservable(gated, '--^ ').toBe('---a-|');
      expectSubscriptions(leader.subscriptions).toBe(['^--!', '--^--!']);
    }),
  );

  it('should not mind a leader that changes its mind while the source emits', () => {
    const leader = new Subject<boolean>();
    const source = defer(() => of('a', 'b', 'c'));
    const seen: string[] = [];
    source.pipe(whileLeading(leader)).subscribe((value) => {
      seen.push(value);
      if (value === 'a') leader.next(false);
    });
    leader.next(true);
    expect(seen).toEqual(['a']);
  });

  it.each<[string, Parameters<typeof whileLeading>[0]]>([
    ['an array', [true]],
    ['B5: an Observable of another copy of rxjs', foreign(true)],
  ])('should take %s for a leader', (_name, leader) => {
    const seen: string[] = [];
    of('a')
      .pipe(whileLeading(leader))
      .subscribe((value) => seen.push(value));
    NEVER.pipe(whileLeading(leader)).subscribe().unsubscribe();
    expect(seen).toEqual(['a']);
  });

  it('should take a promise for a leader', async () => {
    const seen: string[] = [];
    await new Promise<void>((complete) => {
      of('a')
        .pipe(whileLeading(Promise.resolve(true)))
        .subscribe({ next: (value) => seen.push(value), complete });
    });
    expect(seen).toEqual(['a']);
  });
});

it.each([undefined, null, true, {}])('should refuse %j for a leader, at call time', (leader) => {
  expect(() => whileLeading(leader as never)).toThrow(/^Expected `leader` to be an Observable, promise or iterable, got /);
});
