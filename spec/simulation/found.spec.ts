import { reconcile } from 'kreconciler/operators';
import { marbles } from 'kreconciler/testing';
import { of } from 'rxjs';
import { describe, it } from 'vitest';

// What the simulation has found in the engine, shrunk.
describe('reconcile', () => {
  it(
    'should abandon a promise that is over time, also in the lane of an Observable that ended at once',
    marbles(({ hot, scheduler, expectSteps }) => {
      const events = hot('              ab');
      const reconciler = (id: string) => (id === 'a' ? of({}) : new Promise<void>(() => undefined));
      const loop = reconcile(reconciler, { scheduler, maxReconcileTime: 5, maxItemRetries: 0 });
      expectSteps(events.pipe(loop)).toBe({
        started: '                      ab',
        succeeded: '                    a',
        dropped: '                      ------b',
        abandoned: '                    ------b',
      });
    }),
  );
});
