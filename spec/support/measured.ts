import { ignoreElements, type Observable, Subject, timer, VirtualTimeScheduler } from 'rxjs';
import { recordMetrics, type RecordMetricsConfig } from 'kreconciler';
import { constant, reconcile, type ReconcileConfig, type Reconciler, type Step, type Trigger } from 'kreconciler/operators';
import { meteredSdk } from './metered.js';

/** A loop in virtual time, measured with the real SDK. */
export function measured(reconciler: Reconciler, config: ReconcileConfig = {}, telemetry: RecordMetricsConfig = {}) {
  const scheduler = new VirtualTimeScheduler();
  const sdk = meteredSdk();
  const steps: Step[] = [];
  const events = new Subject<string | Trigger>();
  const subscription = events
    .pipe(
      reconcile(reconciler, { delayResolution: 100, backoff: constant(100), ...config, scheduler }),
      recordMetrics({ meter: sdk.meter, scheduler, ...telemetry }),
    )
    .subscribe((step) => steps.push(step));
  const pass = (ms: number): void => {
    scheduler.maxFrames = scheduler.frame + ms;
    scheduler.flush();
    scheduler.frame = scheduler.maxFrames;
  };
  /** A run that takes so long. */
  const takes = (ms: number): Observable<never> => timer(ms, scheduler).pipe(ignoreElements());
  return { ...sdk, scheduler, steps, events, subscription, pass, takes };
}
