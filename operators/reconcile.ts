import { catchError, concat, defer, EMPTY, from, groupBy, ignoreElements, map, merge, mergeMap, type Observable, type OperatorFunction, share, Subject, take, takeUntil, tap, throwError } from 'rxjs';
import { callable, type ReconcileConfig, type ReconcileSettings, reconcileSettings } from './config.js';
import { DelayScheduler } from './delay-scheduler.js';
import { lane, type LaneConfig } from './lane.js';
import { inOrder } from './outlet.js';
import { route } from './route.js';
import type { Reconciler, Step, Trigger } from './types.js';

/**
 * Reconciles the ids that the source says may have drifted, and emits each step of it.
 *
 * Ids are spread over `workerCount` lanes. Within a lane they run one at a time, in the order in which they became ready;
 * an id that is ready or waiting is there once, whatever comes; events during its run make it run once more afterwards.
 * Failures are retried with backoff, and are steps, never errors of the output.
 *
 * Completes when the source has completed and everything has settled, retries included, or after `config.stop` has
 * emitted. Errors if the source or a notifier does, after a stop. Unsubscribing cuts everything off at once.
 * Each subscription is a loop of its own.
 *
 * @throws TypeError if `config` is out of its ranges; the message names the field
 * @example
 * drifted$
 *   .pipe(reconcile(async (id) => { await makeRight(id); }, { workerCount: 4 }))
 *   .subscribe(console.log);
 */
export function reconcile(reconciler: Reconciler, config?: ReconcileConfig): OperatorFunction<string | Trigger, Step> {
  callable('reconciler', reconciler);
  return loop(reconciler, reconcileSettings(config));
}

/** {@link reconcile} for settings that are checked already, whose contexts can be extended and workqueues looked at. */
export function loop(
  reconciler: Reconciler,
  settings: ReconcileSettings,
  extras?: Pick<LaneConfig, 'Context' | 'inspector'>,
): OperatorFunction<string | Trigger, Step> {
  return (source) =>
    inOrder((outlet) => {
      const failures: unknown[] = [];
      const failed = new Subject<void>();
      /** Whatever fails outside the lanes stops the loop in good order, and is told at its end (P4). */
      const stopOnError = <T>(source: Observable<T>): Observable<T> =>
        source.pipe(
          catchError((error: unknown) => {
            failures.push(error);
            failed.next();
            return EMPTY;
          }),
        );
      // Not subscribed anew by a lane that is born after it has completed: that term has ended already.
      const reset = outlet.heardByAll(from(settings.reset).pipe(stopOnError)).pipe(share({ resetOnComplete: false }));
      const stop = outlet.heardByAll(merge(failed, from(settings.stop).pipe(stopOnError)).pipe(take(1))).pipe(share());
      const delays = new DelayScheduler(settings.delayResolution, settings.scheduler);
      const lanes: LaneConfig = { settings: { ...settings, stop, reset }, outlet, delays, ...extras };
      const work = source.pipe(
        stopOnError,
        // Before the lanes: the source is let go first (P2). `reset` is here only to be listened to from the start.
        // eslint-disable-next-line rxjs-x/no-unsafe-takeuntil -- the lanes hear of the stop by themselves, and finish
        takeUntil(merge(stop, reset.pipe(ignoreElements()))),
        map((event) => route(event, settings)),
        groupBy(({ worker }) => worker),
        mergeMap((routed) =>
          routed.key < 0
            ? routed.pipe(
                tap(({ rejection }) => {
                  outlet.emit(rejection as Step);
                }),
              )
            : routed.pipe(
                map(({ trigger }) => trigger),
                lane(reconciler, routed.key, lanes),
              ),
        ),
      );
      return concat(work, defer(() => (failures.length > 0 ? throwError(() => failures[0]) : EMPTY)));
    });
}
