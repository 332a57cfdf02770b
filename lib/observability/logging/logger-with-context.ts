import { type Context, context, isSpanContextValid, type SpanContext, trace } from '@opentelemetry/api';
import type { LogFields, Logger } from './logger.js';

/**
 * `logger` with the fields `traceId` and `spanId` of the span in `within`, or `logger` itself if there is none.
 * (Go: `Observability.LoggerWithCtx`.)
 *
 * @param within - default: the active context
 * @example
 * loggerWithContext(logger).info('zone written', { zone });
 */
export function loggerWithContext(logger: Logger, within: Context = context.active()): Logger {
  const fields = traceFields(trace.getSpanContext(within));
  return fields === undefined ? logger : logger.with(fields);
}

/** The fields that name the span in which something happened. */
export function traceFields(span: SpanContext | undefined): LogFields | undefined {
  return span !== undefined && isSpanContextValid(span) ? { traceId: span.traceId, spanId: span.spanId } : undefined;
}
