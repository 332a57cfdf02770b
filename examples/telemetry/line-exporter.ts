import { type Attributes, SpanStatusCode } from '@opentelemetry/api';
import { ExportResultCode, hrTimeToMilliseconds, type ExportResult } from '@opentelemetry/core';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace-base';

/** Prints each span as a line: its trace, its name, how long it took and how it ended. */
export class LineExporter implements SpanExporter {
  constructor(readonly print: (line: string) => void) {}

  export(spans: ReadableSpan[], done: (result: ExportResult) => void): void {
    for (const span of spans) this.print(lineOf(span));
    done({ code: ExportResultCode.SUCCESS });
  }

  async shutdown(): Promise<void> {}
}

function lineOf(span: ReadableSpan): string {
  const { name, attributes, duration, events, links, parentSpanContext, status } = span;
  const indent = parentSpanContext === undefined ? '' : '  ';
  const parts = [
    span.spanContext().traceId.slice(0, 8),
    `${indent}${name}`,
    shown(attributes),
    `${Math.round(hrTimeToMilliseconds(duration))} ms`,
    status.code === SpanStatusCode.ERROR ? `failed: ${status.message ?? ''}` : '',
    events.map((event) => event.name).join(' > '),
    links.length > 0 ? `linked to ${links.map(({ context }) => context.traceId.slice(0, 8)).join(' ')}` : '',
  ];
  return parts.filter((part) => part !== '').join('  ');
}

function shown(attributes: Attributes): string {
  return Object.entries(attributes)
    .map(([key, value]) => `${key}=${String(value)}`)
    .join(' ');
}
