import { type Context, isSpanContextValid, type Link, propagation, ROOT_CONTEXT, type SpanContext, trace } from '@opentelemetry/api';
import type { Trigger } from '../../../operators/types.js';

/** The limit of the SDK; beyond it, it would throw the first ones away. */
export const MOST_LINKS = 128;

/** The links to the traces from which an event came, and those that it has absorbed, as far as they brought one. */
export function linksTo(trigger: Trigger | undefined): readonly Link[] {
  if (trigger === undefined) return [];
  const own = trigger.context === undefined ? undefined : link(spanContextOf(trigger.context));
  const links = own === undefined ? [] : [own];
  // It may have absorbed a million, of which only the first links count.
  for (const absorbed of trigger.absorbed ?? []) {
    if (links.length >= MOST_LINKS) break;
    for (const origin of linksTo(absorbed)) links.push(origin);
  }
  return links;
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
