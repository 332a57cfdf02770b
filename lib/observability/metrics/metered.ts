import { type Meter, metrics } from '@opentelemetry/api';
import { defer, type MonoTypeOperatorFunction, tap } from 'rxjs';
import { check } from '../../../operators/check.js';
import { streamEventCounter } from './instruments.js';
import { SCOPE } from '../scope.js';

/**
 * Counts the events of a stream in `kreconciler_stream_event_count`, with the attributes `stream: name` and `error: false`,
 * and passes them on. (Go: `MeteredEventHandler`.) It is for loops without `recordMetrics`, which counts them by itself,
 * and knows which were rejected.
 *
 * @param meter - default: that of the globally registered provider, looked up at each subscription
 * @throws TypeError if `name` is no string
 * @example
 * files$.pipe(metered('files'), reconcile(reconciler)).subscribe();
 */
export function metered<T>(name: string, meter?: Meter): MonoTypeOperatorFunction<T> {
  check('name', name, 'a string', typeof name === 'string');
  const attributes = { stream: name, error: false };
  return (events) =>
    defer(() => {
      const counter = streamEventCounter(meter ?? metrics.getMeter(SCOPE));
      return events.pipe(
        tap(() => {
          counter.add(1, attributes);
        }),
      );
    });
}
