import { diag } from '@opentelemetry/api';
import { isPromiseLike } from '../../operators/observable-input.js';

/**
 * `act`, which is code of the user and may throw, or reject if it is an async function: `onError` gets the error, and nothing
 * else is affected. By default that is OpenTelemetry's `diag`, where an SDK reports its own troubles too: telemetry must not end
 * a loop.
 */
export function safely<T>(act: (value: T) => unknown, onError: (error: unknown) => void = tellDiag): (value: T) => void {
  return (value) => {
    try {
      const done = act(value);
      if (isPromiseLike(done)) void Promise.resolve(done).catch(onError);
    } catch (error) {
      onError(error);
    }
  };
}

function tellDiag(error: unknown): void {
  diag.error('kreconciler: telemetry failed', error);
}
