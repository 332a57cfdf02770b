import { defer, delayWhen, EMPTY, finalize, ignoreElements, merge, mergeMap, type OperatorFunction, takeUntil, tap } from 'rxjs';
import { toObservable } from './observable-input.js';
import type { Reconciler, Trigger } from './types.js';
import type { LaneConfig } from './lane-config.js';
import type { Tenure, TenuredLane } from './tenure.js';
import { Worker } from './worker.js';

/**
 * One lane: runs the ids it is given, `workerConcurrency` at a time, in the order in which they became ready or as `order` says.
 * Its steps leave by the trampoline; it completes once its source has and everything has settled, or once `settings.stop` has
 * emitted and nothing runs.
 *
 * @param inTerms - makes it run in terms only, each of which is let go of when nothing of it runs any more. Default: it always may
 */
export function lane(
  reconciler: Reconciler,
  worker: number,
  config: LaneConfig,
  inTerms?: (lane: TenuredLane) => Tenure,
): OperatorFunction<string | Trigger, never> {
  const { settings, delays } = config;
  return (events) =>
    defer(() => {
      const lane = new Worker(reconciler, worker, config, inTerms);
      config.inspector?.(lane.queue);
      config.commands.join(lane);
      return merge(
        // The turnstile: with a concurrency of 1 it is a `concatMap`.
        lane.turns.pipe(mergeMap(() => lane.busyPeriod, settings.workerConcurrency)),
        // The way back of those that wait.
        lane.wakeUps.pipe(
          delayWhen(({ tick, disarmed }) => delays.until(tick.due).pipe(takeUntil(disarmed))),
          tap(({ tick }) => {
            lane.wake(tick);
          }),
        ),
        toObservable(settings.reset).pipe(
          tap(() => {
            lane.reset();
          }),
        ),
        toObservable(settings.stop).pipe(
          tap(() => {
            lane.stop();
          }),
        ),
        lane.tenure?.terms ?? EMPTY,
        lane.taking(events),
      ).pipe(
        ignoreElements(),
        takeUntil(lane.done),
        finalize(() => {
          config.commands.leave(lane);
          lane.cut();
        }),
      );
    });
}
