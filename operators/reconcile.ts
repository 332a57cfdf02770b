import { EMPTY, groupBy, mergeMap, type OperatorFunction } from 'rxjs';
import { type ReconcileConfig, type ReconcileSettings, reconcileSettings } from './config.js';
import { checkFunction } from './check.js';
import { UnicastSubject } from './unicast-subject.js';
import type { LaneExtras } from './lane-config.js';
import { loopWith } from './loop.js';
import { NOWHERE } from './router.js';
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
  checkFunction('reconciler', reconciler);
  return reconcileWith(reconciler, reconcileSettings(config));
}

/** {@link reconcile} for settings that are checked already, whose contexts can be extended and workqueues looked at. */
export function reconcileWith(
  reconciler: Reconciler,
  settings: ReconcileSettings,
  extras?: LaneExtras,
): OperatorFunction<string | Trigger, Step> {
  return loopWith<string | Trigger>(
    settings,
    (events, { lane }, router) =>
      events.pipe(
        // By the bounded lane number, never by id: a group is kept for ever. Nobody listens to that of what was rejected.
        groupBy((event) => router.route(event), { connector: () => new UnicastSubject() }),
        mergeMap((group) => (group.key === NOWHERE ? EMPTY : group.pipe(lane(reconciler, group.key)))),
      ),
    extras,
  );
}
