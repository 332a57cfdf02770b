import { diag } from '@opentelemetry/api';

/**
 * `act`, which is a user's logger or exporter and may throw: telemetry must not end a loop. What it throws is told to
 * OpenTelemetry's `diag`, where an SDK tells its own troubles too.
 */
export function harmless<T>(act: (value: T) => void): (value: T) => void {
  return (value) => {
    try {
      act(value);
    } catch (error) {
      diag.error('kreconciler: telemetry failed', error);
    }
  };
}
