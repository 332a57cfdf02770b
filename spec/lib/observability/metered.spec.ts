import { metrics } from '@opentelemetry/api';
import { map, mergeMap, type Observable, of, Subject, throwError, timer, VirtualTimeScheduler } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { constant, metered, noopLogger, resync } from 'kreconciler';
import { meteredSdk, series } from '../../support/metered.js';

describe('metered', () => {
  it('should count the events of a stream', async () => {
    const { meter, collect } = meteredSdk();
    of('a', { id: 'b' }).pipe(metered('files', meter)).subscribe();
    expect(series(await collect(), 'kreconciler_stream_event_count')).toEqual([
      { attributes: { stream: 'files', error: false }, value: 2 },
    ]);
  });

  it('should take the global meter when it is subscribed to', async () => {
    const { provider, collect } = meteredSdk();
    const source = new Subject<string>();
    const events = source.pipe(metered('files'));
    metrics.setGlobalMeterProvider(provider);
    events.subscribe();
    metrics.disable();
    source.next('x');
    expect(series(await collect(), 'kreconciler_stream_event_count')).toHaveLength(1);
  });

  it('should throw at the call if the name is no string', () => {
    expect(() => metered(5 as unknown as string)).toThrow(/`name` to be a string/);
  });
});

describe('the metrics of resync', () => {
  it('should count what was listed and measure each list, in the time of its scheduler', async () => {
    const { provider, collect } = meteredSdk();
    const scheduler = new VirtualTimeScheduler();
    scheduler.maxFrames = 2000;
    let lists = 0;
    const list = (): Observable<string[]> =>
      lists++ === 1
        ? timer(500, scheduler).pipe(mergeMap(() => throwError(() => new Error('boom'))))
        : timer(20, scheduler).pipe(map(() => ['a', 'b', 'c']));
    resync({
      name: 'zones',
      every: 1000,
      list,
      backoff: constant(100),
      observability: { logger: noopLogger, meterProvider: provider },
      scheduler,
    }).subscribe();
    scheduler.flush();
    const all = await collect();
    expect(all.get('kreconciler_stream_resync_item_count')).toMatchObject({
      descriptor: { unit: '{count}' },
      dataPoints: [{ attributes: { controller: 'zones' }, value: 6 }],
    });
    expect(all.get('kreconciler_stream_resync_millis')).toMatchObject({
      descriptor: { unit: 'ms' },
      dataPoints: [
        { attributes: { controller: 'zones', status: 'success' }, value: { count: 2, sum: 40 } },
        { attributes: { controller: 'zones', status: 'error' }, value: { count: 1, sum: 500 } },
      ],
    });
  });
});
