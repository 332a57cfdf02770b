import { metrics } from '@opentelemetry/api';
import { defer, type MonoTypeOperatorFunction, type SchedulerLike, tap } from 'rxjs';
import { resyncInstruments } from './instruments.js';
import type { Observability } from '../observability.js';
import { SCOPE } from '../scope.js';

/** Measures each subscription to a list of ids, which it passes on: how long it took, how it ended, and how many there were. */
export function measuredList(
  { meterProvider }: Observability,
  scheduler: SchedulerLike,
  name?: string,
): MonoTypeOperatorFunction<readonly string[]> {
  return (list) =>
    defer(() => {
      const { items, millis } = resyncInstruments((meterProvider ?? metrics.getMeterProvider()).getMeter(SCOPE));
      const attributes = name === undefined ? {} : { controller: name };
      const since = scheduler.now();
      const took = (status: 'success' | 'error'): void => {
        millis.record(Math.max(scheduler.now() - since, 0), { ...attributes, status });
      };
      return list.pipe(
        tap({
          next: ({ length }) => {
            items.add(length, attributes);
            took('success');
          },
          error: () => {
            took('error');
          },
        }),
      );
    });
}
