import type { Tracer } from '@opentelemetry/api';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
  type SpanProcessor,
} from '@opentelemetry/sdk-trace-base';

/** Counts the spans that are open. */
class Balance implements SpanProcessor {
  started = 0;
  ended = 0;
  onStart(): void {
    this.started++;
  }
  onEnd(): void {
    this.ended++;
  }
  async forceFlush(): Promise<void> {}
  async shutdown(): Promise<void> {}
}

/** The real tracing SDK: its tracer, the spans that have ended, and how many started and ended. */
export function tracedSdk(): {
  provider: BasicTracerProvider;
  tracer: Tracer;
  balance: Balance;
  spans: (name?: string) => ReadableSpan[];
} {
  const exporter = new InMemorySpanExporter();
  const balance = new Balance();
  const provider = new BasicTracerProvider({ spanProcessors: [balance, new SimpleSpanProcessor(exporter)] });
  const spans = (name?: string): ReadableSpan[] => exporter.getFinishedSpans().filter((span) => name === undefined || span.name === name);
  return { provider, tracer: provider.getTracer('test'), balance, spans };
}
