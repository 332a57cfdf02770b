import { isSpanContextValid, ProxyTracer, type SpanContext, trace, type Tracer } from '@opentelemetry/api';
import { defer, finalize, type MonoTypeOperatorFunction } from 'rxjs';
import { check } from '../../../operators/check.js';
import type { Reconciler, Step } from '../../../operators/types.js';
import { IdTrace } from './id-trace.js';
import { tapSafely } from '../tap-safely.js';
import { SCOPE } from '../scope.js';
import { runInContext } from './run-in-context.js';

/** What {@link tracing} traces with, and what it has to know of the loop. */
export interface TracingConfig {
  /** Default: that of the globally registered provider, looked up at each subscription, so that it may be registered late. */
  readonly tracer?: Tracer | undefined;
  /** That of the loop; the event `enqueue_with_delay` reports it. Default 10, as there. */
  readonly maxItemRetries?: number | undefined;
}

/** The two halves of the tracing of one loop, which share its open spans. */
export interface Tracing {
  /** The same reconciler, with the span `handle` active wherever its code runs. */
  readonly traced: <C>(reconciler: Reconciler<C>) => Reconciler<C>;
  /** Starts and ends the spans by the steps of the loop, which it passes on unchanged. */
  readonly record: () => MonoTypeOperatorFunction<Step>;
  /**
   * The span that an open id is in, `handle` before `reconcile`; or the one that a step belongs to, for those behind
   * `record` to whom it is just being passed on.
   */
  readonly spanContext: (of: string | Step) => SpanContext | undefined;
}

/**
 * Traces one loop: a span `reconcile` from an id's event until it settles, linked to the traces that its events came from
 * (`trigger.context`), and in it a span `handle` for each attempt. Have one for each loop: ids are distinguished by name alone.
 * With no SDK registered it costs next to nothing.
 *
 * `handle` can only be active across `await` if a context manager is registered, as the SDK for Node does.
 *
 * @throws TypeError if a field is unusable; the message names it
 * @example
 * const { traced, record } = tracing();
 * ids$.pipe(reconcile(traced(reconciler)), record()).subscribe();
 */
export function tracing(config: TracingConfig = {}): Tracing {
  const { tracer: given, maxItemRetries = 10 } = config;
  check('tracer', given, 'a Tracer', given === undefined || typeof (given as Partial<Tracer> | null)?.startSpan === 'function');
  check('maxItemRetries', maxItemRetries, 'a number >= 0', typeof maxItemRetries === 'number' && maxItemRetries >= 0);
  const ids = new Map<string, IdTrace>();
  let tracer: Tracer | undefined;
  let works: boolean | undefined;
  let seen: Step | undefined;
  let seenIn: SpanContext | undefined;

  const stop = (): void => {
    for (const id of ids.values()) id.close();
    ids.clear();
    tracer = works = seen = seenIn = undefined;
  };
  const follow = (step: Step): void => {
    seen = undefined;
    if (tracer === undefined || !isOfAnId(step)) return;
    const known = ids.get(step.id);
    const id = known ?? new IdTrace(tracer, step.id, maxItemRetries + 1);
    const before = id.spanContext;
    id[step.kind](step as never);
    if (id.isOver) ids.delete(step.id);
    else if (known === undefined) ids.set(step.id, id);
    seen = step;
    // What settles belongs to the span that it has ended.
    seenIn = 'attempt' in step && step.kind !== 'started' ? before : id.spanContext;
    // Only a tracer that does nothing, for want of an SDK, makes root spans of no trace. It is asked once.
    if (works === undefined && seenIn !== undefined) works = isSpanContextValid(seenIn);
    if (works === false) stop();
  };

  return {
    traced: (reconciler) => (id, run) => {
      const active = tracer && ids.get(id)?.active;
      return active === undefined ? reconciler(id, run) : runInContext(active, reconciler, id, run);
    },
    record: () => (steps) =>
      defer(() => {
        const now = given ?? trace.getTracer(SCOPE);
        // One that stands for what may be registered later: there is no SDK now.
        if (given === undefined && now instanceof ProxyTracer) return steps;
        tracer = now;
        return steps.pipe(tapSafely(follow), finalize(stop));
      }),
    spanContext: (of) => {
      if (typeof of === 'string') return ids.get(of)?.spanContext;
      return of === seen ? seenIn : undefined;
    },
  };
}

/** Whether the step belongs to the way of an id from an event to the end of its runs. */
function isOfAnId(step: Step): step is Exclude<Step, { readonly kind: 'rejected' | 'abandoned' | 'released' }> {
  return step.id !== '' && !['rejected', 'abandoned', 'released'].includes(step.kind);
}
