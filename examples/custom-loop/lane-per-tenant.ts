import { loop, type Reconciler, type ReconcileConfig, reconcileSettings, route, type Step, type Trigger } from 'kreconciler/operators';
import { filter, groupBy, mergeMap, type OperatorFunction } from 'rxjs';

/**
 * Reconciles with a lane for each tenant, where `reconcile` spreads the ids over a fixed number of them: tenants never wait
 * for each other, and of one tenant one id runs at a time. The tenant is what stands before the slash.
 *
 * A lane is kept for ever, as `groupBy` keeps its groups: right for tenants, of which there are so many and no more.
 */
export function lanePerTenant(reconciler: Reconciler, config: ReconcileConfig = {}): OperatorFunction<string | Trigger, Step> {
  const settings = reconcileSettings({ ...config, workerHasher: (id) => (id.includes('/') ? 0 : -1) });
  return loop<string | Trigger>(settings, (events$, { lane, emit }) =>
    events$.pipe(
      filter((event) => {
        const routed = route(event, settings);
        if (typeof routed === 'number') return true;
        emit(routed);
        return false;
      }),
      groupBy((event) => tenantOf(typeof event === 'string' ? event : event.id)),
      mergeMap((tenant$, number) => tenant$.pipe(lane(reconciler, number))),
    ),
  );
}

function tenantOf(id: string): string {
  return id.slice(0, id.indexOf('/'));
}
