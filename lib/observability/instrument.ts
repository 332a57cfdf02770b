import { context, trace } from '@opentelemetry/api';
import { type MonoTypeOperatorFunction, pipe } from 'rxjs';
import type { ReconcileContext, Reconciler, Step } from '../../operators/types.js';
import type { Logger } from './logging/logger.js';
import { logSteps } from './logging/log-steps.js';
import { traceFields } from './logging/logger-with-context.js';
import type { Observability } from './observability.js';
import { recordMetrics, type RecordMetricsConfig } from './metrics/record-metrics.js';
import { SCOPE } from './scope.js';
import { tracing, type TracingConfig } from './tracing/tracing.js';

/** What is known of a loop that is to be instrumented. */
export type InstrumentConfig = Omit<RecordMetricsConfig, 'meter'> & Omit<TracingConfig, 'tracer'>;

/** What makes one loop observable. */
export interface Instrumented {
  /** The same reconciler, with the span of its attempt active wherever its code runs. */
  readonly traced: <C>(reconciler: Reconciler<C>) => Reconciler<C>;
  /** Measures, traces and logs the steps, and passes them on unchanged. */
  readonly steps: MonoTypeOperatorFunction<Step>;
  /** A logger bound to the id and the attempt of a run, and to its span. */
  readonly loggerFor: (run: ReconcileContext) => Logger;
}

/**
 * What measures, traces and logs one loop. Global providers are looked up when the loop starts: an SDK that was registered
 * after the import is then heard of, and with none it costs next to nothing.
 *
 * @example
 * const { traced, steps } = instrument(observability({ logger }), { name: 'zones' });
 * ids$.pipe(reconcile(traced(reconciler)), steps).subscribe();
 */
export function instrument(observability: Observability, config: InstrumentConfig = {}): Instrumented {
  const { meterProvider, tracerProvider } = observability;
  const { name } = config;
  const logger = name === undefined ? observability.logger : observability.logger.with({ controller: name });
  const traces = tracing({ ...config, tracer: tracerProvider?.getTracer(SCOPE) });
  return {
    traced: traces.traced,
    steps: pipe(recordMetrics({ ...config, meter: meterProvider?.getMeter(SCOPE) }), traces.record(), logSteps(logger, traces)),
    loggerFor: ({ id, worker, attempt }) => {
      // Without a context manager no span is active, but it is known all the same.
      const span = trace.getSpanContext(context.active()) ?? traces.spanContext(id);
      return logger.with({ id, worker, attempt, ...traceFields(span) });
    },
  };
}
