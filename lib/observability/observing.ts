import { diag } from '@opentelemetry/api';
import { type MonoTypeOperatorFunction, tap } from 'rxjs';
import type { Step } from '../../operators/types.js';

/**
 * Shows each step to `observe`, and the error that ends them to `fail`, and passes them on. Telemetry must not end a loop:
 * what these throw is told to OpenTelemetry's `diag`, where an SDK tells its own troubles too.
 */
export function observing(observe: (step: Step) => void, fail: (error: unknown) => void = () => undefined): MonoTypeOperatorFunction<Step> {
  return tap({ next: guarded(observe), error: guarded(fail) });
}

function guarded<T>(act: (value: T) => void): (value: T) => void {
  return (value) => {
    try {
      act(value);
    } catch (error) {
      diag.error('kreconciler: telemetry failed', error);
    }
  };
}
