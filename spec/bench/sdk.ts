import { context, type Meter, type Tracer } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import { AggregationTemporality, InMemoryMetricExporter, MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';

/** What there is of the SDK; what there is not is not registered. */
export interface Providers {
  readonly meter: Meter;
  readonly tracer?: Tracer;
  readonly shutdown: () => Promise<unknown>;
}

/** The real SDK, set up as for production, except that nothing leaves the process. */
export async function metricsOnly(): Promise<Providers> {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const provider = new MeterProvider({
    readers: [new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 1000, exportTimeoutMillis: 1000 })],
  });
  return { meter: provider.getMeter('bench'), shutdown: () => provider.shutdown() };
}

export async function metricsAndTraces(): Promise<Providers> {
  const { meter, shutdown } = await metricsOnly();
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  const provider = new BasicTracerProvider({ spanProcessors: [new BatchSpanProcessor(nowhere)] });
  return { meter, tracer: provider.getTracer('bench'), shutdown: () => Promise.all([shutdown(), provider.shutdown()]) };
}

const nowhere = {
  export: (_: unknown, done: (result: ExportResult) => void) => done({ code: ExportResultCode.SUCCESS }),
  shutdown: async () => {},
};
