import { type Context, isSpanContextValid, type Link, propagation, ROOT_CONTEXT, type SpanContext, trace } from '@opentelemetry/api';
import type { Trigger } from '../../../operators/types.js';

/** The limit of the SDK; beyond it, it would throw the first ones away. */
export const MOST_LINKS = 128;

/** The link to the trace from which an event came, if it brought one. */
export function linkTo(trigger: Trigger | undefined): Link | undefined {
  return trigger?.context === undefined ? undefined : link(spanContextOf(trigger.context));
}

export function link(context: SpanContext | undefined): Link | undefined {
  return context !== undefined && isSpanContextValid(context) ? { context } : undefined;
}

/** A `Context`, recognised by its method as it may be of another copy of the API; or a carrier, which the propagator reads. */
function spanContextOf(carried: unknown): SpanContext | undefined {
  if (typeof carried !== 'object' || carried === null) return undefined;
  const isContext = typeof (carried as Partial<Context>).getValue === 'function';
  return trace.getSpanContext(isContext ? (carried as Context) : propagation.extract(ROOT_CONTEXT, carried));
}
