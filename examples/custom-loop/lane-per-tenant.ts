import { DelayScheduler, inOrder, lane, type Reconciler, type ReconcileConfig, reconcileSettings, route, type Step, type Trigger } from 'kreconciler/operators';
import { filter, groupBy, map, mergeMap, type OperatorFunction, tap } from 'rxjs';

/**
 * Reconciles with a lane for each tenant, where `reconcile` spreads the ids over a fixed number of them: tenants never wait
 * for each other, and of one tenant one id runs at a time. The tenant is what stands before the slash.
 *
 * A lane is kept for ever, as `groupBy` keeps its groups: right for tenants, of which there are so many and no more.
 */
export function lanePerTenant(reconciler: Reconciler, config: ReconcileConfig = {}): OperatorFunction<string | Trigger, Step> {
  return (source) =>
    inOrder((outlet) => {
      const tenants = new Map<string, number>();
      const settings = reconcileSettings({
        ...config,
        workerCount: Number.MAX_SAFE_INTEGER,
        workerHasher: (id) => {
          if (!id.includes('/')) return -1;
          const tenant = id.slice(0, id.indexOf('/'));
          const number = tenants.get(tenant) ?? tenants.size;
          tenants.set(tenant, number);
          return number;
        },
      });
      const delays = new DelayScheduler(settings.delayResolution, settings.scheduler);
      return source.pipe(
        map((event) => route(event, settings)),
        tap(({ rejection }) => {
          if (rejection !== undefined) outlet.emit(rejection);
        }),
        filter(({ rejection }) => rejection === undefined),
        groupBy(({ worker }) => worker),
        mergeMap((routed$) =>
          routed$.pipe(
            map(({ trigger }) => trigger),
            lane(reconciler, routed$.key, { settings, outlet, delays }),
          ),
        ),
      );
    });
}
