import { defer, delayWhen, finalize, ignoreElements, merge, mergeMap, type OperatorFunction, takeUntil, tap } from 'rxjs';
import type { Attempt } from './attempt.js';
import type { Commands } from './commands.js';
import type { ReconcileSettings } from './config.js';
import type { DelayScheduler } from './delay-scheduler.js';
import { toObservable } from './observable-input.js';
import type { Places } from './places.js';
import type { Trampoline } from './trampoline.js';
import type { Reconciler, Trigger } from './types.js';
import { Worker } from './worker.js';
import type { Workqueue } from './workqueue.js';

/** What the lanes of one loop share. */
export interface LaneConfig {
  readonly settings: ReconcileSettings;
  /** Where the steps leave. */
  readonly trampoline: Trampoline;
  /** Where the wake-ups are scheduled; its resolution is `settings.delayResolution`. */
  readonly delays: DelayScheduler;
  /** Where its workers take the places in which ids run; `undefined`: there are enough. */
  readonly places: Places | undefined;
  /** Knows what is paused, and tells its lanes of commands. */
  readonly commands: Commands;
  /** Is told that a user's order has broken its rules: the loop must end. */
  readonly broken: (error: Error) => void;
  /** What contexts are made of, if they are to have more: a class that extends it keeps the signal lazy. */
  readonly Context?: typeof Attempt | undefined;
  /** Is told of the lane's workqueue, to look at. */
  readonly inspector?: ((queue: Workqueue) => void) | undefined;
}

/**
 * One lane: runs the ids it is given, `workerConcurrency` at a time, in the order in which they became ready or as `order` says. Its steps leave by the trampoline;
 * it completes once its source has and everything has settled, or once `settings.stop` has emitted and nothing runs.
 */
export function lane(reconciler: Reconciler, worker: number, config: LaneConfig): OperatorFunction<string | Trigger, never> {
  const { settings, delays } = config;
  return (events) =>
    defer(() => {
      const lane = new Worker(reconciler, worker, config);
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
