import { ofKind, type ReconcileConfig, reconcile, type Reconciler } from 'kreconciler/operators';
import { marbles } from 'kreconciler/testing';
import { ignoreElements, map, of, Subject, take, throwError } from 'rxjs';
import { describe, expect, it, test } from 'vitest';
import { inWords } from '../support/rig.js';

const done: Reconciler = () => undefined;

describe('reconcile', () => {
  test(
    'should reconcile each id that it is told of',
    marbles(({ hot, cold, scheduler, expectSteps, expectSubscriptions }) => {
      const run = cold('       --|');
      const source = hot('     -a---b-a----|');
      expectSteps(source.pipe(reconcile(() => run.pipe(ignoreElements()), { scheduler }))).toBeExactly({
        enqueued: '            -a---b-a',
        started: '             -a---b-a',
        succeeded: '           ---a---b-a',
        ends: '                ------------|',
      });
      expectSubscriptions(source.subscriptions).toBe('^-----------!');
      expectSubscriptions(run.subscriptions).toBe(['-^-!', '-----^-!', '-------^-!']);
    }),
  );

  test(
    'should retry, with a wait, what fails',
    marbles(({ hot, scheduler, expectSteps }) => {
      const source = hot('     -a|');
      const reconciler: Reconciler = (_, { attempt }) => {
        if (attempt < 3) throw new Error('no');
      };
      expectSteps(source.pipe(reconcile(reconciler, { scheduler, delayResolution: 5, backoff: (failures) => failures * 5 }))).toBeExactly({
        enqueued: '            -a--------a---------a',
        started: '             -a--------a---------a',
        requeued: '            -a--------a',
        succeeded: '           --------------------a',
        ends: '                --------------------|',
      });
    }),
  );

  test(
    'should take triggers as well as strings',
    marbles(({ hot, scheduler, expectSteps }) => {
      const source = hot('     -ab|', { a: { id: 'x', stream: 's' }, b: 'y' });
      expectSteps(source.pipe(reconcile(done, { scheduler }))).toBeExactly({
        enqueued: '            -xy',
        started: '             -xy',
        succeeded: '           -xy',
        ends: '                ---|',
      });
    }),
  );

  test(
    'should never end with a source that never ends',
    marbles(({ cold, scheduler, expectSteps, expectSubscriptions }) => {
      const source = cold('    -------');
      expectSteps(source.pipe(reconcile(done, { scheduler })), '-----!').toBeExactly({});
      expectSubscriptions(source.subscriptions).toBe('^----!');
    }),
  );

  test(
    'should complete with an empty source',
    marbles(({ cold, scheduler, expectSteps, expectSubscriptions }) => {
      const source = cold('    |');
      expectSteps(source.pipe(reconcile(done, { scheduler }))).toBeExactly({ ends: '|' });
      expectSubscriptions(source.subscriptions).toBe('(^!)');
    }),
  );

  test(
    'should error with a source that errors',
    marbles(({ hot, scheduler, expectSteps, expectSubscriptions }) => {
      const source = hot('     -a-#');
      expectSteps(source.pipe(reconcile(done, { scheduler }))).toBeExactly({
        enqueued: '            -a',
        started: '             -a',
        succeeded: '           -a',
        ends: '                ---#',
      });
      expectSubscriptions(source.subscriptions).toBe('^--!');
    }),
  );

  test('should pass the error of the source on as it is', () => {
    const error = new RangeError('odd');
    let caught: unknown;
    throwError(() => error)
      .pipe(reconcile(done))
      .subscribe({
        error: (given: unknown) => {
          caught = given;
        },
      });
    expect(caught).toBe(error);
  });

  test.each<[string, (fail: () => never) => Reconciler | ReconcileConfig]>([
    ['reconciler', (fail) => fail],
    ['workerName', (fail) => ({ workerName: fail })],
    ['workerHasher', (fail) => ({ workerHasher: fail })],
    ['backoff', (fail) => ({ backoff: fail })],
  ])('should not error because the callback `%s` does', (_, made) => {
    const broken = made(() => {
      throw new Error('callback');
    });
    const reconciler = typeof broken === 'function' ? broken : (): { error: string } => ({ error: 'no' });
    const told: string[] = [];
    const subscription = of('a', 'b')
      .pipe(reconcile(reconciler, typeof broken === 'function' ? {} : broken))
      .subscribe({ next: (step) => told.push(inWords(step)), error: () => told.push('error') });
    expect(told).not.toContain('error');
    expect(told.filter((step) => /requeued|rejected/.test(step))).toHaveLength(2);
    subscription.unsubscribe();
  });

  test(
    'should let go of the source, the run and the waiting ids when it is unsubscribed early',
    marbles(({ hot, cold, scheduler, expectSteps, expectSubscriptions }) => {
      const run = cold('       ------|');
      const source = hot('     -ab-------|');
      const until = '          ----!';
      expectSteps(
        source.pipe(reconcile((id) => (id === 'a' ? { requeueDelay: 5 } : run.pipe(ignoreElements())), { scheduler })),
        until,
      ).toBeExactly({
        enqueued: '            -ab',
        started: '             -ab',
        requeued: '            -a',
      });
      expectSubscriptions(source.subscriptions).toBe('^---!');
      expectSubscriptions(run.subscriptions).toBe('  --^-!');
    }),
  );

  test(
    'should not break unsubscription chains when the result is unsubscribed early',
    marbles(({ hot, scheduler, expectSteps, expectSubscriptions }) => {
      const source = hot('     -a--b------|');
      const until = '          ---!';
      const chained = source.pipe(
        map((id) => id),
        reconcile(done, { scheduler }),
        map((step) => step),
      );
      expectSteps(chained, until).toBeExactly({
        enqueued: '            -a',
        started: '             -a',
        succeeded: '           -a',
      });
      expectSubscriptions(source.subscriptions).toBe('^--!');
    }),
  );

  test(
    'should begin anew with a second subscription',
    marbles(({ cold, scheduler, expectSteps, expectSubscriptions }) => {
      const source = cold('    a-a|');
      let runs = 0;
      const steps = source.pipe(
        reconcile(
          () => {
            // Fails but once, and in the first loop.
            if (++runs === 1) throw new Error('no');
          },
          { scheduler, delayResolution: 1, backoff: () => 1 },
        ),
      );
      expectSteps(steps).toBeExactly({
        enqueued: '            aaa',
        started: '             aaa',
        requeued: '            a',
        succeeded: '           -aa',
        ends: '                ---|',
      });
      expectSteps(steps).toBeExactly({
        enqueued: '            a-a',
        started: '             a-a',
        succeeded: '           a-a',
        ends: '                ---|',
      });
      expectSubscriptions(source.subscriptions).toBe(['^--!', '^--!']);
    }),
  );

  test(
    'should stop at the first step for a subscriber that takes one',
    marbles(({ hot, scheduler, flush, expectSteps, expectSubscriptions }) => {
      let runs = 0;
      const source = hot('     --a-b-|');
      expectSteps(
        source.pipe(
          reconcile(
            () => {
              runs++;
            },
            { scheduler },
          ),
          take(1),
        ),
      ).toBeExactly({ enqueued: '--a', ends: '--|' });
      expectSubscriptions(source.subscriptions).toBe('^-!');
      flush();
      expect(runs).toBe(0);
    }),
  );

  test('should be lazy: nothing is subscribed to before the output is', () => {
    const source = new Subject<string>();
    const stop = new Subject<void>();
    const reset = new Subject<void>();
    const steps = source.pipe(reconcile(done, { stop, reset }));
    expect([source, stop, reset].map(({ observed }) => observed)).toEqual([false, false, false]);
    const subscription = steps.subscribe();
    expect([source, stop, reset].map(({ observed }) => observed)).toEqual([true, true, true]);
    subscription.unsubscribe();
    expect([source, stop, reset].map(({ observed }) => observed)).toEqual([false, false, false]);
  });

  test('should tell the reconciler all about its run', () => {
    const seen: unknown[] = [];
    const events = new Subject<{ id: string; stream?: string }>();
    events
      .pipe(
        reconcile(
          (id, { signal, ...rest }) => {
            seen.push({ given: id, ...rest, aborted: signal.aborted });
            if (seen.length === 1) for (const stream of ['x', 'y', 'x']) events.next({ id, stream });
            if (seen.length === 1) events.next({ id });
          },
          { workerCount: 4, workerHasher: () => 3, workerName: (worker) => `lane ${worker}` },
        ),
      )
      .subscribe();
    events.next({ id: 'a', stream: 'x' });
    const common = { given: 'a', id: 'a', worker: 3, workerName: 'lane 3', attempt: 1, reason: 'event', aborted: false };
    expect(seen).toEqual([
      { ...common, streams: ['x'] },
      { ...common, streams: ['x', 'y'] },
    ]);
  });

  test(
    'should measure how long an id waited and how long its run took',
    marbles(({ hot, cold, scheduler, expectObservable }) => {
      const run = cold('       ----|');
      const source = hot('     ab--------|');
      const steps = source.pipe(reconcile(() => run.pipe(ignoreElements()), { scheduler }));
      const times = steps.pipe(
        ofKind('started', 'succeeded'),
        map((step) => (step.kind === 'started' ? step.waited : step.took)),
      );
      expectObservable(times).toBe('0---(43)4-|', { 0: 0, 3: 3, 4: 4 });
    }),
  );

  it.each<[string, () => unknown, RegExp]>([
    ['reconciler', () => reconcile(5 as unknown as Reconciler), /Expected `reconciler` to be a function, got `5` \(number\)/],
    ['workerCount', () => reconcile(done, { workerCount: 0 }), /Expected `workerCount` to be an integer >= 1, got `0` \(number\)/],
    ['maxReconcileTime', () => reconcile(done, { maxReconcileTime: NaN }), /Expected `maxReconcileTime` to be .*, got `NaN` \(number\)/],
    ['stop', () => reconcile(done, { stop: 'now' as unknown as Subject<void> }), /Expected `stop` to be .*, got `now` \(string\)/],
  ])('should refuse an odd `%s` at call time', (_, call, message) => {
    expect(call).toThrow(TypeError);
    expect(call).toThrow(message);
  });
});
