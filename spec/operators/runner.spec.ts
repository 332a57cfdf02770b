import { ignoreElements, NEVER, Observable, of, Subject, throwError, timer } from 'rxjs';
import { reconcileSettings, type ReconcileConfig, type ReconcileContext, type Reconciler } from 'kreconciler/operators';
import { describe, expect, it } from 'vitest';
import { Entry } from '../../operators/entry.js';
import { hashOf } from '../../operators/id-index.js';
import { Runner } from '../../operators/runner.js';
import { Clock } from '../support/clock.js';
import { type Deferred, deferred } from '../support/deferred.js';

/** A runner, and in words what its observer was told. */
function bench(reconciler: Reconciler, config: ReconcileConfig = {}) {
  const clock = new Clock();
  const told: string[] = [];
  const runner: Runner = new Runner(reconciler, reconcileSettings({ scheduler: clock, maxReconcileTime: 100, ...config }), 3, {
    hold: (work) => {
      told.push('hold');
      work();
      told.push('let go');
    },
    settled: ({ id }, { failure = 'well' }) => {
      told.push(`settled ${id}: ${failure}`);
      runner.recorded();
    },
    overtime: () => told.push(`overtime at ${clock.now()}`),
    released: ({ id }) => told.push(`released ${id}`),
  });
  const run = (id: string) => {
    const entry = new Entry(id, hashOf(id));
    runner.take(entry);
    return { entry, outcome: runner.run(entry) };
  };
  return { clock, told, runner, run };
}

const BROKEN = new Error('broken');
const cutOff = (): Error => new Error('cut off');

describe('a run', () => {
  it.each<[string, Reconciler, object]>([
    ['nothing', () => undefined, { requeueDelay: 0 }],
    ['a result', () => ({ requeueDelay: 5 }), { requeueDelay: 5 }],
    ['an Observable that ends at once', () => of(undefined, { requeueDelay: 7 }), { requeueDelay: 7 }],
    ['an Observable that fails at once', () => throwError(() => BROKEN), { failure: 'thrown', error: BROKEN }],
    ['what it threw', () => { throw BROKEN; }, { failure: 'thrown', error: BROKEN }], // prettier-ignore
  ])('should have its outcome at once if the reconciler answers %s', (_, reconciler, outcome) => {
    const { run, told } = bench(reconciler);
    expect(run('web').outcome).toMatchObject(outcome);
    expect(told).toEqual([]);
  });

  it('should have its outcome later if a promise is to settle', async () => {
    const answers: Record<string, Deferred<void>> = { web: deferred(), db: deferred() };
    const { run, told, clock } = bench((id) => answers[id]?.promise);
    expect(run('web').outcome).toBeUndefined();
    answers['web']?.resolve();
    await clock.pass(0);
    run('db');
    answers['db']?.reject(new Error('broken'));
    await clock.pass(0);
    expect(told).toEqual(['settled web: well', 'settled db: thrown']);
  });

  it('should be told of only after what was subscribed to is torn down, while nothing may start', () => {
    const answer = new Subject<undefined>();
    const { run, told } = bench(() => new Observable<undefined>((subscriber) => {
      subscriber.add(answer.subscribe(subscriber));
      return () => told.push('torn down');
    })); // prettier-ignore
    run('web');
    answer.complete();
    expect(told).toEqual(['hold', 'torn down', 'settled web: well', 'let go']);
  });

  it('should be given all that a reconciler may know of it', () => {
    let context: ReconcileContext | undefined;
    const { run } = bench((_, its) => void (context = its), { workerName: (worker) => `worker ${worker}` });
    run('web');
    expect(context).toMatchObject({ id: 'web', worker: 3, workerName: 'worker 3', attempt: 1, reason: 'event', streams: [] });
  });

  it('should have failed if its worker has no name', () => {
    const { run } = bench(() => undefined, {
      workerName: () => {
        throw new Error('no name');
      },
    });
    expect(run('web').outcome).toMatchObject({ failure: 'thrown', error: new Error('no name') });
  });
});

describe('a run that is cut off', () => {
  it('should be over at once if it can be unsubscribed, and abort its signal only when it is ended', () => {
    let signal: AbortSignal | undefined;
    const { run, runner, told } = bench((_, context) => {
      ({ signal } = context);
      return new Observable(() => () => told.push('torn down'));
    });
    const { entry } = run('web');
    const cut = runner.cutOff();
    expect(cut).toMatchObject({ entry, open: false });
    expect(signal?.aborted).toBe(false);
    expect(told).toEqual([]);
    cut?.end(cutOff);
    expect(signal?.reason).toEqual(cutOff());
    expect(told).toEqual(['torn down']);
  });

  it('should be open as long as its promise is, and say nothing but that it was released', async () => {
    const answers: Record<string, Deferred<void>> = { web: deferred(), db: deferred() };
    const { run, runner, told, clock } = bench((id) => answers[id]?.promise);
    run('web');
    expect(runner.cutOff()?.open).toBe(true);
    run('db');
    answers['web']?.reject(new Error('too late'));
    await clock.pass(0);
    expect(told).toEqual(['released web']);
    answers['db']?.resolve();
    await clock.pass(0);
    expect(told).toEqual(['released web', 'settled db: well']);
  });

  it('should not be called back by what was unsubscribed, nor taken for the next one', () => {
    const answer = new Subject<undefined>();
    const { run, runner, told } = bench((id) => (id === 'web' ? answer : NEVER));
    run('web');
    runner.cutOff()?.end(cutOff);
    run('db');
    answer.complete();
    expect(told).toEqual([]);
    expect(runner.cutOff()?.entry.id).toBe('db');
  });

  it('should have no outcome if that was done by the reconciler itself', () => {
    const { run, runner } = bench(() => {
      runner.cutOff()?.end(cutOff);
    });
    expect(run('web').outcome).toBeUndefined();
  });

  it('should not be there any more once its outcome is recorded', () => {
    const { run, runner } = bench(() => undefined);
    run('web');
    expect(runner.cutOff()).toBeDefined();
    run('db');
    runner.recorded();
    expect(runner.cutOff()).toBeUndefined();
  });
});

describe('the time of a run', () => {
  it('should be over after `maxReconcileTime`', () => {
    const { run, clock, told } = bench(() => NEVER);
    run('web');
    clock.advance(99);
    expect(told).toEqual([]);
    clock.advance(1);
    expect(told).toEqual(['overtime at 100']);
  });

  it.each([0, Infinity])('should have no end with a limit of %d', (maxReconcileTime) => {
    const { run, clock, told } = bench(() => NEVER, { maxReconcileTime });
    run('web');
    clock.advance(1e9);
    expect([told, clock.timers]).toEqual([[], 0]);
  });

  it('should be its own, though runs that end soon share a timer', () => {
    const end = new Subject<undefined>();
    const { run, clock, told } = bench((id) => (id === 'slow' ? NEVER : end));
    for (let i = 0; i < 10; i++) {
      run('quick');
      expect(clock.timers).toBeLessThanOrEqual(2);
      clock.advance(5);
      end.next(undefined);
      end.complete();
    }
    clock.advance(0);
    expect(told.filter((what) => what.startsWith('overtime'))).toEqual([]);
  });

  it('should be counted from its own call where it follows a quick one', () => {
    const { run, clock, told } = bench((id) => (id === 'slow' ? NEVER : timer(60, clock).pipe(ignoreElements())));
    run('quick');
    clock.advance(60);
    run('slow');
    clock.advance(99);
    expect(told).toEqual(['hold', 'settled quick: well', 'let go']);
    clock.advance(1);
    expect(told.at(-1)).toBe('overtime at 160');
  });

  it('should leave no timer once nothing runs', async () => {
    const { run, runner, clock } = bench(() => Promise.resolve());
    run('web');
    expect(clock.timers).toBe(1);
    await clock.pass(0);
    runner.rest();
    expect(clock.timers).toBe(0);
  });
});
