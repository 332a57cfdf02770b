import * as api from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { createRequire } from 'node:module';
import { BehaviorSubject, from, lastValueFrom, NEVER, of, Subject } from 'rxjs';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { instrument, type InstrumentConfig, noopLogger, observability } from 'kreconciler';
import { reconcile, type ReconcileContext, type Reconciler, type Step } from 'kreconciler/operators';
import { logged } from '../../support/logged.js';
import { meteredSdk, series, total } from '../../support/metered.js';
import { tracedSdk } from '../../support/traced.js';

afterEach(() => {
  for (const global of [api.trace, api.metrics, api.context, api.propagation]) global.disable();
});

/** A whole life of a loop over `ids`. */
function run(telemetry: ReturnType<typeof instrument>, reconciler: Reconciler, ids = ['x']): Promise<Step> {
  return lastValueFrom(from(ids).pipe(reconcile(telemetry.traced(reconciler)), telemetry.steps));
}

/** A second copy of the API, as another package may bring it. */
function anotherCopy(): typeof api {
  const require = createRequire(import.meta.url);
  const cached = Object.keys(require.cache).filter((path) => path.includes('@opentelemetry/api/'));
  const modules = cached.map((path) => [path, require.cache[path]] as const);
  for (const path of cached) Reflect.deleteProperty(require.cache, path);
  const copy = require('@opentelemetry/api') as typeof api;
  for (const [path, module] of modules) require.cache[path] = module;
  return copy;
}

describe('instrument', () => {
  it('should measure, trace and log a loop, and bind the logger of a run to its span', async () => {
    const metrics = meteredSdk();
    const traces = tracedSdk();
    const { logger, lines } = logged();
    const telemetry = instrument(
      { logger, meterProvider: metrics.provider, tracerProvider: traces.provider },
      { name: 'zones', leading: of(true) },
    );
    await run(telemetry, (_, context) => {
      telemetry.loggerFor(context).info('hello', { zone: 'a' });
    });
    const [handle] = traces.spans('handle');
    const { traceId, spanId } = handle!.spanContext();
    expect(lines).toContainEqual(['info', 'hello', { controller: 'zones', id: 'x', worker: 0, attempt: 1, traceId, spanId, zone: 'a' }]);
    expect(lines.map(([, message]) => message)).toEqual(['enqueued', 'started', 'hello', 'succeeded']);
    for (const [, , fields] of lines) expect(fields).toMatchObject({ controller: 'zones', traceId });
    expect(total(await metrics.collect(), 'kreconciler_handle_result', { controller: 'zones', result: 'ok' })).toBe(1);
  });

  it('should bind the logger of a run that was abandoned to its own span, not to that of the run that follows', async () => {
    api.context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    const traces = tracedSdk();
    const { logger, lines } = logged();
    const telemetry = instrument(observability({ logger, tracerProvider: traces.provider }));
    const go = new Subject<void>();
    let runs = 0;
    const reconciler: Reconciler = async (_, context: ReconcileContext) => {
      if (runs++ > 0) return;
      await lastValueFrom(go, { defaultValue: undefined });
      telemetry.loggerFor(context).info('late');
    };
    const done = lastValueFrom(
      of('x').pipe(
        reconcile(telemetry.traced(reconciler), { maxReconcileTime: 1, maxItemRetries: 1, delayResolution: 5 }),
        telemetry.steps,
      ),
    );
    setTimeout(() => {
      go.complete();
    }, 30);
    await done;
    const [late] = lines.filter(([, message]) => message === 'late');
    expect(late![2]['spanId']).toBe(traces.spans('handle')[0]!.spanContext().spanId);
  });

  it('should take the global meter and tracer when the loop starts, so that they may be registered late', async () => {
    const metrics = meteredSdk();
    const traces = tracedSdk();
    const telemetry = instrument({ logger: noopLogger });
    await run(telemetry, () => undefined);
    api.metrics.setGlobalMeterProvider(metrics.provider);
    api.trace.setGlobalTracerProvider(traces.provider);
    await run(telemetry, () => undefined);
    expect(total(await metrics.collect(), 'kreconciler_dequeue')).toBe(1);
    expect(traces.spans('handle')).toHaveLength(1);
  });

  it('should hear of an SDK that was registered with another copy of the API, and keep its span active for both', async () => {
    const other = anotherCopy();
    expect(other.trace).not.toBe(api.trace);
    const metrics = meteredSdk();
    const traces = tracedSdk();
    other.metrics.setGlobalMeterProvider(metrics.provider);
    other.trace.setGlobalTracerProvider(traces.provider);
    other.context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    const telemetry = instrument({ logger: noopLogger });
    const active: unknown[] = [];
    await run(telemetry, async () => {
      await Promise.resolve();
      active.push(api.trace.getActiveSpan()?.spanContext().spanId, other.trace.getActiveSpan()?.spanContext().spanId);
    });
    const { spanId } = traces.spans('handle')[0]!.spanContext();
    expect(active).toEqual([spanId, spanId]);
    expect(total(await metrics.collect(), 'kreconciler_dequeue')).toBe(1);
  });

  it('should link to a context that was made by another copy of the API', async () => {
    const other = anotherCopy();
    const traces = tracedSdk();
    const telemetry = instrument(observability({ logger: noopLogger, tracerProvider: traces.provider }));
    const spanContext = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), traceFlags: 1 };
    const context = other.trace.setSpanContext(other.ROOT_CONTEXT, spanContext);
    await lastValueFrom(
      of({ id: 'x', context }).pipe(
        reconcile(() => undefined),
        telemetry.steps,
      ),
    );
    expect(traces.spans('reconcile')[0]!.links).toMatchObject([{ context: spanContext }]);
  });

  it('should leave nothing behind after 100 starts and stops', async () => {
    const metrics = meteredSdk();
    const traces = tracedSdk();
    const leading = new BehaviorSubject(true);
    const meter = metrics.provider.getMeter('kreconciler');
    const added = vi.spyOn(meter, 'addBatchObservableCallback');
    const removed = vi.spyOn(meter, 'removeBatchObservableCallback');
    for (let i = 0; i < 100; i++) {
      const telemetry = instrument(
        { logger: noopLogger, meterProvider: metrics.provider, tracerProvider: traces.provider },
        { name: 'a', leading },
      );
      const subscription = of('x', 'y')
        .pipe(reconcile(telemetry.traced(() => NEVER)), telemetry.steps)
        .subscribe();
      subscription.unsubscribe();
    }
    expect(added).toHaveBeenCalledTimes(100);
    expect(removed.mock.calls.map(([callback]) => callback)).toEqual(added.mock.calls.map(([callback]) => callback));
    expect(leading.observed).toBe(false);
    expect(traces.balance.started).toBe(300);
    expect(traces.balance.ended).toBe(300);
    const all = await metrics.collect();
    expect(total(all, 'kreconciler_handle_millis')).toBe(100);
    for (const name of all.keys()) expect(series(all, name), name).toHaveLength(1);
  });

  it('should check its configuration at the call', () => {
    expect(() => instrument({ logger: noopLogger }, { name: 5 } as unknown as InstrumentConfig)).toThrow(/`name` to be a string/);
  });
});
