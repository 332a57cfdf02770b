import {
  catchError,
  concat,
  defer,
  EMPTY,
  merge,
  type Observable,
  type OperatorFunction,
  repeat,
  ReplaySubject,
  share,
  Subject,
  take,
  takeUntil,
  tap,
  throwError,
  using,
} from 'rxjs';
import { Commands } from './commands.js';
import type { ReconcileSettings } from './config.js';
import { DelayScheduler } from './delay-scheduler.js';
import { heardByAll } from './heard-by-all.js';
import { lane } from './lane.js';
import type { LaneConfig, LaneExtras } from './lane-config.js';
import { toObservable } from './observable-input.js';
import { Places } from './places.js';
import { Router } from './router.js';
import type { Tenure, TenuredLane } from './tenure.js';
import { trampolined } from './trampolined.js';
import type { Reconciler, Step, Trigger } from './types.js';

/** What a loop is composed of. */
export interface LoopParts {
  /** One serial lane; its steps carry `worker`, which no other lane of the loop may have. */
  readonly lane: (reconciler: Reconciler, worker: number) => OperatorFunction<string | Trigger, never>;
  /** Emits a step that is not a lane's, a rejection for instance, in order with theirs. */
  readonly emit: (step: Step) => void;
}

/**
 * The life of a loop, around lanes that `compose` lays out as it likes: steps leave in order, `settings.stop` and
 * `settings.reset` are heard by all lanes at once, and what fails outside of them stops the loop in good order. It is what
 * `reconcile` stands on, for loops of your own.
 *
 * Completes and errors as `reconcile` does. `compose` is called once per subscription; the Observable it returns must last
 * as long as its lanes do, and complete after its input has and they have.
 *
 * @example
 * changes$.pipe(
 *   loop(reconcileSettings(), (events$, { lane }) =>
 *     events$.pipe(
 *       groupBy(tenantOf),
 *       mergeMap((tenant$, i) => tenant$.pipe(lane(reconciler, i))),
 *     ),
 *   ),
 * );
 */
export function loop<T>(
  settings: ReconcileSettings,
  compose: (events: Observable<T>, parts: LoopParts) => Observable<unknown>,
): OperatorFunction<T, Step> {
  return loopWith(settings, compose);
}

/** The same with what only the engine itself composes. */
interface OwnParts extends LoopParts {
  /** A lane that may run in terms only. */
  readonly lane: (
    reconciler: Reconciler,
    worker: number,
    inTerms?: (lane: TenuredLane) => Tenure,
  ) => OperatorFunction<string | Trigger, never>;
}

/** {@link loop} with a router, whose contexts can be extended and workqueues looked at. */
export function loopWith<T>(
  settings: ReconcileSettings,
  compose: (events: Observable<T>, parts: OwnParts, router: Router) => Observable<unknown>,
  extras?: LaneExtras,
): OperatorFunction<T, Step> {
  return (source) =>
    trampolined((trampoline) => {
      const router = new Router(settings, trampoline);
      const failures: unknown[] = [];
      const failed = new Subject<void>();
      const fail = (error: unknown): void => {
        failures.push(error);
        failed.next();
      };
      /** Whatever fails outside the lanes stops the loop in good order, and is reported at its end (P4). */
      const stopOnError = <V>(input: Observable<V>): Observable<V> =>
        input.pipe(
          catchError((error: unknown) => {
            fail(error);
            return EMPTY;
          }),
        );
      const reset = toObservable(settings.reset).pipe(
        stopOnError,
        heardByAll(trampoline, router),
        tap(() => extras?.letGo?.()),
        share({ resetOnComplete: false }),
      );
      const stop = merge(failed, toObservable(settings.stop).pipe(stopOnError)).pipe(
        take(1),
        heardByAll(trampoline, router),
        // Said again to a lane that is born after it, which must not begin.
        share({ connector: () => new ReplaySubject(1), resetOnComplete: false }),
      );
      const commands = new Commands(settings, trampoline);
      const delays = new DelayScheduler(settings.delayResolution, settings.scheduler);
      const places = settings.concurrency === Infinity ? undefined : new Places(settings.concurrency);
      const config: LaneConfig = { settings: { ...settings, stop, reset }, trampoline, delays, places, commands, broken: fail, ...extras };
      const obeyed = toObservable(settings.commands).pipe(
        stopOnError,
        tap({
          next: (command) => {
            commands.obey(command);
          },
          complete: () => {
            commands.ended();
          },
        }),
        takeUntil(stop),
      );
      const events = toObservable(source).pipe(
        stopOnError,
        // Not again: it ends, but only once the event that is being routed has its step (A1).
        repeat({ delay: () => router.routed }),
        // Before the lanes: the source is let go first (P2).
        takeUntil(stop),
      );
      const parts: OwnParts = {
        lane: (reconciler, worker, inTerms) => lane(reconciler, worker, config, inTerms),
        emit: (step) => {
          trampoline.emit(step);
        },
      };
      const lanes = compose(events, parts, router);
      return using(
        // From the start to the end, whether or not there is a source or a lane to hear them.
        () => merge(stop, reset, obeyed).subscribe(),
        () =>
          concat(
            lanes.pipe(stopOnError),
            defer(() => (failures.length > 0 ? throwError(() => failures[0]) : EMPTY)),
          ),
      );
    });
}
