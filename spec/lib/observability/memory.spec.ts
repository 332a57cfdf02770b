import { Subject } from 'rxjs';
import { expect, it, vi } from 'vitest';
import { instrument, noopLogger } from 'kreconciler';
import { reconcile, type Reconciler, TerminalError } from 'kreconciler/operators';
import { IdTrace } from '../../../lib/observability/tracing/id-trace.js';
import { MeasuredId } from '../../../lib/observability/metrics/measured-id.js';
import { meteredSdk } from '../../support/metered.js';
import { tracedSdk } from '../../support/traced.js';

it('should keep nothing of ids that are done in a loop that lives on', () => {
  const remembered = [MeasuredId, IdTrace].map((kind) => ({ kind, maps: new Set<Map<unknown, unknown>>() }));
  // eslint-disable-next-line @typescript-eslint/unbound-method -- it is called with its map below
  const { set } = Map.prototype;
  vi.spyOn(Map.prototype, 'set').mockImplementation(function (this: Map<unknown, unknown>, key, value) {
    for (const { kind, maps } of remembered) if (value instanceof kind) maps.add(this);
    return set.call(this, key, value);
  });
  const telemetry = instrument({ logger: noopLogger, meterProvider: meteredSdk().provider, tracerProvider: tracedSdk().provider });
  const reset = new Subject<void>();
  const events = new Subject<string>();
  const reconciler: Reconciler = (id) => {
    if (id.startsWith('drop')) throw new TerminalError(id);
    if (id.startsWith('poll')) return { requeueDelay: 60_000 };
    if (id.startsWith('fail')) return { error: id };
    return undefined;
  };
  const subscription = events.pipe(reconcile(telemetry.traced(reconciler), { reset }), telemetry.steps).subscribe();
  for (let n = 0; n < 100; n++) for (const fate of ['succeed', 'drop', 'poll', 'fail']) events.next(`${fate} ${n}`);
  const left = (): number[] => remembered.map(({ maps }) => Array.from(maps, ({ size }) => size).reduce((sum, size) => sum + size, 0));
  expect(left()).toEqual([200, 200]);
  reset.next();
  expect(left()).toEqual([0, 0]);
  subscription.unsubscribe();
});
