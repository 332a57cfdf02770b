import { context, metrics, propagation, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { PrometheusExporter } from '@opentelemetry/exporter-prometheus';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import { BasicTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { LineExporter } from './line-exporter.js';

/**
 * Registers the SDK: metrics at `http://localhost:<port>/metrics`, spans to `print`. It must happen before the loop runs, not
 * before it is imported or made.
 *
 * @returns how to end it
 */
export async function startTelemetry(port: number, print: (line: string) => void): Promise<() => Promise<void>> {
  const exporter = new PrometheusExporter({ port, host: '127.0.0.1', preventServerStart: true });
  await exporter.startServer();
  const meterProvider = new MeterProvider({ readers: [exporter] });
  const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(new LineExporter(print))] });
  // Makes the span of an attempt active across `await`.
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  // Reads the carriers that triggers bring along.
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  metrics.setGlobalMeterProvider(meterProvider);
  trace.setGlobalTracerProvider(tracerProvider);
  return async () => {
    await tracerProvider.shutdown();
    await meterProvider.shutdown();
  };
}
