import { EMPTY, filter, groupBy, mergeMap, Observable, type OperatorFunction, Subject, Subscription } from 'rxjs';
import type { ReconcileSettings } from './config.js';
import type { LaneExtras } from './lane-config.js';
import { loopWith } from './loop.js';
import { notOwned } from './route.js';
import { NOWHERE } from './router.js';
import { inTerms, LaneTerm } from './tenure.js';
import type { Reconciler, Step, Trigger } from './types.js';
import { UnicastSubject } from './unicast-subject.js';

/**
 * `reconcile` for workers each of which runs in terms of its own: these come with the events, so that they end where the events
 * do, and before a lane is stopped (H10). A lane is there from its first term on, and outlives all of them.
 */
export function reconcileTerms(
  reconciler: Reconciler,
  settings: ReconcileSettings,
  extras?: LaneExtras,
): OperatorFunction<string | Trigger | LaneTerm, Step> {
  return loopWith<string | Trigger | LaneTerm>(
    settings,
    (inputs, { lane, emit }, router) => {
      const known = new Set<number>();
      const workerOf = (input: string | Trigger | LaneTerm): number => {
        if (input instanceof LaneTerm) {
          known.add(input.worker);
          return input.worker;
        }
        const worker = router.route(input);
        if (worker === NOWHERE || known.has(worker)) return worker;
        emit(notOwned(input, worker, settings));
        return NOWHERE;
      };
      return letGoFirst(inputs).pipe(
        groupBy(workerOf, { connector: () => new UnicastSubject() }),
        mergeMap((group) => {
          if (group.key === NOWHERE) return EMPTY;
          const terms = new Subject<LaneTerm>();
          return group.pipe(
            filter((input): input is string | Trigger => {
              if (!(input instanceof LaneTerm)) return true;
              terms.next(input);
              return false;
            }),
            lane(reconciler, group.key, inTerms(terms)),
          );
        }),
      );
    },
    extras,
  );
}

/** `inputs`, which are let go of before their end is heard: else a lane at rest would let go of its term while more are being given. */
function letGoFirst<T>(inputs: Observable<T>): Observable<T> {
  return new Observable((subscriber) => {
    const upstream = new Subscription();
    subscriber.add(upstream);
    upstream.add(
      inputs.subscribe({
        next: (input) => {
          subscriber.next(input);
        },
        error: (error: unknown) => {
          subscriber.error(error);
        },
        complete: () => {
          upstream.unsubscribe();
          subscriber.complete();
        },
      }),
    );
  });
}
