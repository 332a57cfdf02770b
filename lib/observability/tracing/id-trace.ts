import {
  type Attributes,
  type Context,
  type Link,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
  type Tracer,
} from '@opentelemetry/api';
import { markedAnew } from '../../../operators/marked-anew.js';
import { shown } from '../../../operators/shown.js';
import type { Dropped, Enqueued, Merged, Paused, Requeued, Started, Trigger } from '../../../operators/types.js';
import { link, linksTo, MOST_LINKS } from './links.js';

/** Events that the run in hand cannot serve. */
interface Later {
  readonly stream: string | undefined;
  readonly links: Link[];
}

/** How many attempts a trace has at most: one that fails for weeks would be a trace that is never exported. */
const MOST_ATTEMPTS = 200;

/**
 * The open spans of one id: `reconcile` from its event until it settles, and `handle` while it runs. `handle` is open only
 * while `reconcile` is. It has a method for each kind of step, named after it.
 */
export class IdTrace {
  /** The context in which the attempt in hand is to run. */
  active: Context | undefined;
  #root: Span | undefined;
  #links = 0;
  #handle: Span | undefined;
  /** The next trace is about them. */
  #later: Later | undefined;
  /** Those that came before a discard, if more, which are the later ones, have come after it: theirs is a trace before that. */
  #discarded: Later | undefined;
  /** How many attempts the trace has had. */
  #attempts = 0;
  /** The trace that ended with a poll, or because it was long enough: the next one goes on from it. */
  #previous: SpanContext | undefined;

  constructor(
    readonly tracer: Tracer,
    readonly id: string,
    readonly maxTry: number,
  ) {}

  /** The innermost open span. */
  get spanContext(): SpanContext | undefined {
    return (this.#handle ?? this.#root)?.spanContext();
  }

  get isOver(): boolean {
    return this.#root === undefined && this.#later === undefined && this.#previous === undefined;
  }

  enqueued({ trigger }: Enqueued): void {
    const isOpen = this.#root !== undefined;
    const root = this.#open(trigger);
    if (isOpen) this.#link(root, linksTo(trigger));
    root.addEvent('enqueue');
  }

  merged(step: Merged): void {
    const { trigger } = step;
    const origins = linksTo(trigger);
    if (this.#root !== undefined) {
      this.#root.addEvent('merged');
      this.#link(this.#root, origins);
    }
    if (this.#root !== undefined && this.#handle === undefined) return;
    if (markedAnew.has(step)) {
      this.#discarded = this.#later;
      this.#later = undefined;
    }
    this.#later ??= { stream: trigger?.stream, links: [] };
    for (const origin of origins) if (this.#later.links.length < MOST_LINKS) this.#later.links.push(origin);
  }

  started({ worker, attempt, reason }: Started): void {
    const { id } = this;
    const root = this.#open(undefined);
    root.addEvent('dequeue');
    const attributes = { id, attempt, reason, workerId: worker };
    this.#attempts++;
    this.#handle = this.tracer.startSpan('handle', { attributes }, trace.setSpan(ROOT_CONTEXT, root));
    this.active = trace.setSpan(ROOT_CONTEXT, this.#handle);
  }

  succeeded(): void {
    this.#end(done);
  }

  requeued({ attempt, delay, failure, error }: Requeued): void {
    const attributes: Attributes = { 'schedule.millis': delay, try_count: attempt };
    if (this.maxTry < Infinity) attributes['max_try'] = this.maxTry;
    this.#root?.addEvent('enqueue_with_delay', attributes);
    if (failure === undefined) {
      this.#continueIn(done);
    } else {
      // The retry serves them, and its trace, this one or the next, has the links, or leads to them.
      this.#later = undefined;
      const end = failure === 'superseded' ? superseded : failed(error);
      if (this.#attempts < MOST_ATTEMPTS) this.#endHandle(end);
      else this.#continueIn(end);
    }
  }

  dropped({ took, reason, failure, error }: Dropped): void {
    // Stopping is no failure (P5), but no success either; a poll for which there is no room has been one (R3).
    const end = failure !== undefined ? failed(error) : took !== undefined && reason === 'delay_queue_full' ? done : asItIs;
    this.#root?.setAttribute('dropped', reason);
    this.#end(end);
    this.#previous = undefined;
  }

  /** Only where there is work that it holds up. */
  paused({ why }: Paused): void {
    this.#root?.addEvent('paused', why === undefined ? {} : { why });
  }

  resumed(): void {
    this.#root?.addEvent('resumed');
  }

  /** Nothing more will be known of it. */
  close(): void {
    this.#end(asItIs);
  }

  #open(trigger: Trigger | undefined): Span {
    if (this.#root !== undefined) return this.#root;
    const { id } = this;
    const later = this.#discarded ?? this.#later;
    const stream = trigger?.stream ?? later?.stream;
    const origins = [link(this.#previous), ...linksTo(trigger), ...(later?.links ?? [])];
    const links = origins.filter((origin) => origin !== undefined).slice(0, MOST_LINKS);
    if (this.#discarded === undefined) this.#later = undefined;
    this.#discarded = this.#previous = undefined;
    this.#links = links.length;
    this.#attempts = 0;
    const attributes = stream === undefined ? { id } : { id, stream };
    this.#root = this.tracer.startSpan('reconcile', { kind: SpanKind.CONSUMER, root: true, attributes, links }, ROOT_CONTEXT);
    return this.#root;
  }

  /** Ends this trace: the next one, by the wake-up or by an event before it, is linked to it. */
  #continueIn(end: (span: Span) => void): void {
    this.#previous = this.#root?.spanContext();
    this.#end(end);
  }

  #link(root: Span, origins: readonly Link[]): void {
    for (const origin of origins) if (this.#links++ < MOST_LINKS) root.addLink(origin);
  }

  #endHandle(end: (span: Span) => void): void {
    if (this.#handle !== undefined) end(this.#handle);
    this.#handle = this.active = undefined;
  }

  #end(end: (span: Span) => void): void {
    this.#endHandle(end);
    if (this.#root !== undefined) end(this.#root);
    this.#root = undefined;
  }
}

function done(span: Span): void {
  span.setStatus({ code: SpanStatusCode.OK });
  span.end();
}

/** A newer event has ended it, which is neither a success nor an error. */
function superseded(span: Span): void {
  span.setAttribute('superseded', true);
  span.end();
}

function asItIs(span: Span): void {
  span.end();
}

function failed(error: unknown): (span: Span) => void {
  return (span) => {
    const message = messageOf(error);
    // Errors are whatever was thrown; those that are hard to read are recorded as text.
    if (message === undefined) span.recordException(shown(error));
    else span.recordException(error as Error);
    span.setStatus({ code: SpanStatusCode.ERROR, message: message ?? shown(error) });
    span.end();
  };
}

function messageOf(error: unknown): string | undefined {
  try {
    const { message, name, stack } = error as Error;
    return [message, name, stack].every((part) => typeof part === 'string') ? message : undefined;
  } catch {
    return undefined;
  }
}
