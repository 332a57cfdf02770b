import { ofKind, type Step } from 'kreconciler/operators';
import { marbles } from 'kreconciler/testing';
import { describe, it } from 'vitest';

const base = { id: 'a', worker: 0, at: 0 } as const;
const steps: Record<string, Step> = {
  e: { ...base, kind: 'enqueued', reason: 'event' },
  m: { ...base, kind: 'merged' },
  s: { ...base, kind: 'started', attempt: 1, reason: 'event', streams: [], waited: 0 },
  d: { ...base, kind: 'dropped', attempt: 1, reason: 'terminal' },
};

describe('ofKind', () => {
  it(
    'should let steps of one kind through',
    marbles(({ hot, expectObservable, expectSubscriptions }) => {
      const source = hot('  -e-m-s-d-e-|', steps);
      const expected = '    -e-------e-|';
      const subscriptions = '^----------!';
      expectObservable(source.pipe(ofKind('enqueued'))).toBe(expected, steps);
      expectSubscriptions(source.subscriptions).toBe(subscriptions);
    }),
  );

  it(
    'should let steps of several kinds through',
    marbles(({ hot, expectObservable }) => {
      const source = hot('-e-m-s-d-e-|', steps);
      const expected = '  ---m---d---|';
      expectObservable(source.pipe(ofKind('dropped', 'merged'))).toBe(expected, steps);
    }),
  );

  it(
    'should let nothing through without a kind',
    marbles(({ hot, expectObservable }) => {
      const source = hot('-e-m-|', steps);
      const expected = '  -----|';
      expectObservable(source.pipe(ofKind())).toBe(expected);
    }),
  );

  it(
    'should never emit for a source that never does',
    marbles(({ cold, expectObservable }) => {
      expectObservable(cold<Step>('-').pipe(ofKind('merged'))).toBe('-');
    }),
  );

  it(
    'should complete with an empty source',
    marbles(({ cold, expectObservable }) => {
      expectObservable(cold<Step>('|').pipe(ofKind('merged'))).toBe('|');
    }),
  );

  it(
    'should fail with its source',
    marbles(({ hot, expectObservable }) => {
      const source = hot('-m-#', steps);
      const expected = '  -m-#';
      expectObservable(source.pipe(ofKind('merged'))).toBe(expected, steps);
    }),
  );

  it(
    'should let go of its source when it is unsubscribed',
    marbles(({ hot, expectObservable, expectSubscriptions }) => {
      const source = hot('  -m-m-m-|', steps);
      const unsub = '       ----!   ';
      const expected = '    -m-m    ';
      const subscriptions = '^---!   ';
      expectObservable(source.pipe(ofKind('merged')), unsub).toBe(expected, steps);
      expectSubscriptions(source.subscriptions).toBe(subscriptions);
    }),
  );

  it(
    'should serve a second subscription like the first',
    marbles(({ cold, expectObservable }) => {
      const filtered = cold('  -e-m-|', steps).pipe(ofKind('merged'));
      expectObservable(filtered, '^     ').toBe('---m-|', steps);
      expectObservable(filtered, '--^   ').toBe('-----m-|', steps);
    }),
  );
});
