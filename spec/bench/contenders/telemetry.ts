import { recordMetrics, tracing } from 'kreconciler';
import { reconcile } from 'kreconciler/operators';
import { Subject } from 'rxjs';
import type { Contender } from '../contender.js';
import type { Providers } from '../sdk.js';

/** `reconcile` with its metrics and traces, recorded by `providers`; without any: as it is where no SDK is registered. */
export function telemetry(does: string, providers?: () => Promise<Providers>): Contender {
  return {
    does: `\`reconcile\` with ${does}`,
    can: ['promise', 'sync', 'observable', 'retry'],
    layerOver: 'kreconciler',
    async open(work, config) {
      const { meter, tracer, shutdown } = (await providers?.()) ?? {};
      const { traced, record } = tracing({ tracer });
      const drifted$ = new Subject<string>();
      const loop = drifted$.pipe(reconcile(traced(work), config), recordMetrics({ meter }), record()).subscribe();
      return {
        push: (id) => drifted$.next(id),
        close: () => {
          loop.unsubscribe();
          return shutdown?.();
        },
      };
    },
  };
}
