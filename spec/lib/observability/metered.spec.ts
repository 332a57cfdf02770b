import { metrics } from '@opentelemetry/api';
import { of, Subject } from 'rxjs';
import { expect, it } from 'vitest';
import { metered } from 'kreconciler';
import { resyncMetrics } from '../../../lib/observability/resync-metrics.js';
import { meteredSdk, series } from '../../support/metered.js';

it('metered counts the events of a stream', async () => {
  const { meter, collect } = meteredSdk();
  of('a', { id: 'b' }).pipe(metered('files', meter)).subscribe();
  expect(series(await collect(), 'kreconciler_stream_event_count')).toEqual([{ attributes: { stream: 'files', error: false }, value: 2 }]);
});

it('metered takes the global meter when it is subscribed to', async () => {
  const { provider, collect } = meteredSdk();
  const source = new Subject<string>();
  const events = source.pipe(metered('files'));
  metrics.setGlobalMeterProvider(provider);
  events.subscribe();
  metrics.disable();
  source.next('x');
  expect(series(await collect(), 'kreconciler_stream_event_count')).toHaveLength(1);
});

it('metered throws at the call if the name is no string', () => {
  expect(() => metered(5 as unknown as string)).toThrow(/`name` to be a string/);
});

it('resyncMetrics counts what was listed and measures each list', async () => {
  const { provider, collect } = meteredSdk();
  const { listed, failed } = resyncMetrics({ logger: undefined as never, meterProvider: provider });
  listed(3, 20);
  listed(4, 30);
  failed(500);
  const all = await collect();
  expect(all.get('kreconciler_stream_resync_item_count')).toMatchObject({ descriptor: { unit: '{count}' }, dataPoints: [{ attributes: {}, value: 7 }] });
  expect(all.get('kreconciler_stream_resync_millis')).toMatchObject({
    descriptor: { unit: 'ms' },
    dataPoints: [
      { attributes: { status: 'success' }, value: { count: 2, sum: 50 } },
      { attributes: { status: 'error' }, value: { count: 1, sum: 500 } },
    ],
  });
});
