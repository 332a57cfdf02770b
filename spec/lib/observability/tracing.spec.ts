import { propagation, ROOT_CONTEXT, type SpanContext, SpanKind, SpanStatusCode, trace, TraceFlags } from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { AlwaysOffSampler, BasicTracerProvider, type ReadableSpan } from '@opentelemetry/sdk-trace-base';
import { concat, ignoreElements, NEVER, type Observable, of, Subject, throwError, timer, VirtualTimeScheduler } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { tracing } from 'kreconciler';
import {
  type Command,
  constant,
  reconcile,
  type ReconcileConfig,
  type Reconciler,
  type Result,
  type Step,
  TerminalError,
  type Trigger,
} from 'kreconciler/operators';
import { deferred } from '../../support/deferred.js';
import { tracedSdk } from '../../support/traced.js';

const BOOM = new Error('boom');

/** A loop in virtual time that is traced. */
function traced(
  reconciler: (id: string, takes: (ms: number) => Observable<never>, attempt: number, reason: string) => ReturnType<Reconciler>,
  config: ReconcileConfig = {},
) {
  const scheduler = new VirtualTimeScheduler();
  const sdk = tracedSdk();
  const steps: Step[] = [];
  const events = new Subject<string | Trigger>();
  const stop = new Subject<void>();
  const reset = new Subject<void>();
  const takes = (ms: number): Observable<never> => timer(ms, scheduler).pipe(ignoreElements());
  const traces = tracing({ tracer: sdk.tracer, maxItemRetries: 2 });
  const subscription = events
    .pipe(
      reconcile(
        traces.traced((id, { attempt, reason }) => reconciler(id, takes, attempt, reason)),
        {
          delayResolution: 100,
          backoff: constant(100),
          maxItemRetries: 2,
          shutdownGrace: 10,
          ...config,
          stop,
          reset,
          scheduler,
        },
      ),
      traces.record(),
    )
    .subscribe((step) => steps.push(step));
  const pass = (ms: number): void => {
    scheduler.maxFrames = scheduler.frame + ms;
    scheduler.flush();
    scheduler.frame = scheduler.maxFrames;
  };
  const kinds = (): string[] => steps.map((step) => (step.kind === 'dropped' ? `dropped ${step.reason}` : step.kind));
  return { ...sdk, events, stop, reset, subscription, pass, steps, kinds, traces };
}

const eventsOf = (span: ReadableSpan): string[] => span.events.map(({ name }) => name);
const linked = (span: ReadableSpan): string[] => span.links.map(({ context }) => context.traceId);

/** A context as a source in another trace would have it. */
function origin(n: number): { traceId: string; spanContext: SpanContext } {
  const traceId = n.toString(16).padStart(32, 'a');
  return { traceId, spanContext: { traceId, spanId: 'b'.repeat(16), traceFlags: TraceFlags.SAMPLED } };
}
const inContext = (n: number) => trace.setSpanContext(ROOT_CONTEXT, origin(n).spanContext);

describe('tracing', () => {
  it('should make a root span `reconcile` of an id, with `handle` in it', () => {
    const { events, spans } = traced(() => undefined);
    events.next({ id: 'x', stream: 'files' });
    const [handle, root] = spans();
    expect(root).toMatchObject({
      name: 'reconcile',
      kind: SpanKind.CONSUMER,
      parentSpanContext: undefined,
      attributes: { id: 'x', stream: 'files' },
      status: { code: SpanStatusCode.OK },
    });
    expect(eventsOf(root!)).toEqual(['enqueue', 'dequeue']);
    expect(handle).toMatchObject({
      name: 'handle',
      parentSpanContext: { spanId: root!.spanContext().spanId },
      attributes: { id: 'x', attempt: 1, reason: 'event', workerId: 0 },
      status: { code: SpanStatusCode.OK },
    });
  });

  it('should keep failed attempts in one trace until the id settles', () => {
    const { events, pass, spans } = traced((_, __, attempt) => {
      if (attempt < 3) throw BOOM;
    });
    events.next('x');
    pass(1000);
    const [root] = spans('reconcile');
    expect(spans('reconcile')).toHaveLength(1);
    expect(eventsOf(root!)).toEqual([
      'enqueue',
      'dequeue',
      'enqueue_with_delay',
      'enqueue',
      'dequeue',
      'enqueue_with_delay',
      'enqueue',
      'dequeue',
    ]);
    expect(root!.events[2]!.attributes).toEqual({ 'schedule.millis': 100, try_count: 1, max_try: 3 });
    const handles = spans('handle');
    expect(handles.map(({ attributes, status }) => [attributes['attempt'], attributes['reason'], status])).toEqual([
      [1, 'event', { code: SpanStatusCode.ERROR, message: 'boom' }],
      [2, 'retry', { code: SpanStatusCode.ERROR, message: 'boom' }],
      [3, 'retry', { code: SpanStatusCode.OK }],
    ]);
    expect(handles[0]!.events[0]).toMatchObject({ name: 'exception', attributes: { 'exception.message': 'boom' } });
    expect(new Set([root, ...handles].map((span) => span!.spanContext().traceId)).size).toBe(1);
  });

  it('should end a trace with a poll, and link the next one to it, so that none grows for ever', () => {
    const { events, pass, spans, subscription, balance } = traced(() => ({ requeueDelay: 100 }));
    events.next('x');
    pass(1050);
    const roots = spans('reconcile');
    expect(roots.length).toBe(11);
    for (const [i, root] of roots.entries()) {
      expect(eventsOf(root)).toEqual(['enqueue', 'dequeue', 'enqueue_with_delay']);
      expect(root.status.code).toBe(SpanStatusCode.OK);
      expect(linked(root)).toEqual(i === 0 ? [] : [roots[i - 1]!.spanContext().traceId]);
    }
    subscription.unsubscribe();
    expect(balance.started).toBe(balance.ended);
  });

  it('should end a trace after 200 attempts, and go on in one that is linked to it, so that a failure without end is exported', () => {
    const { events, pass, spans, subscription, balance } = traced(() => ({ error: BOOM }), { maxItemRetries: Infinity });
    events.next({ id: 'web', stream: 'files', context: inContext(1) });
    pass(100 * 450);
    const roots = spans('reconcile');
    expect(roots).toHaveLength(2);
    for (const [i, root] of roots.entries()) {
      const { traceId } = root.spanContext();
      expect(spans('handle').filter((handle) => handle.spanContext().traceId === traceId)).toHaveLength(200);
      expect(root.status).toMatchObject({ code: SpanStatusCode.ERROR, message: 'boom' });
      expect(linked(root)).toEqual([i === 0 ? origin(1).traceId : roots[i - 1]!.spanContext().traceId]);
    }
    subscription.unsubscribe();
    expect(balance.started).toBe(balance.ended);
  });

  // prettier-ignore -- aligned
  it.each<[string, unknown, string]>([
    ['an error', BOOM, 'boom'],
    ['a string', 'no', '`no` (string)'],
    ['undefined', undefined, '`undefined`'],
    ['an object', { code: 5 }, '`{"code":5}` (object)'],
    [
      'one that resists',
      {
        get message() {
          throw BOOM;
        },
      },
      '(object)',
    ],
  ])('should record whatever was thrown: %s', (_, error, message) => {
    const { events, spans, balance } = traced(
      () => {
        throw error;
      },
      { maxItemRetries: 0 },
    );
    events.next('x');
    const [handle, root] = spans();
    expect(handle!.status.code).toBe(SpanStatusCode.ERROR);
    expect(handle!.status.message).toContain(message);
    expect(handle!.events.map(({ name }) => name)).toEqual(['exception']);
    expect(root).toMatchObject({ attributes: { dropped: 'retries' }, status: { code: SpanStatusCode.ERROR } });
    expect(balance.started).toBe(balance.ended);
  });
});

describe('as many spans start as end, and none is open once nothing is left to do:', () => {
  type Loop = ReturnType<typeof traced>;
  const twice = ({ events }: Loop): void => {
    events.next('x');
  };
  const other = ({ events }: Loop): void => {
    events.next('y');
  };
  const stop = ({ stop }: Loop): void => {
    stop.next();
  };
  const passes =
    (ms: number) =>
    ({ pass }: Loop): void => {
      pass(ms);
    };

  // prettier-ignore -- aligned
  it.each<
    [outcome: string, last: string, reconciler: Parameters<typeof traced>[0], acts: ((loop: Loop) => void)[], config?: ReconcileConfig]
  >([
    ['success', 'succeeded', () => undefined, []],
    ['retry', 'succeeded', (_, __, n) => (n === 1 ? { error: 1 } : {}), [passes(1000)]],
    ['dropped: retries', 'dropped retries', () => ({ error: 1 }), [passes(1000)]],
    [
      'dropped: terminal',
      'dropped terminal',
      () => {
        throw new TerminalError('');
      },
      [],
    ],
    ['no room for a retry', 'dropped delay_queue_full', () => ({ error: 1 }), [], { delayQueueSize: 0 }],
    ['no room for a poll', 'dropped delay_queue_full', () => ({ requeueDelay: 5 }), [], { delayQueueSize: 0 }],
    [
      'full',
      'succeeded',
      (_, takes) => takes(5),
      [
        other,
        ({ events }) => {
          events.next('z');
        },
        passes(50),
      ],
      { workerQueueSize: 1 },
    ],
    ['unrouted', 'rejected', () => undefined, [], { workerHasher: () => -1 }],
    ['odd answer', 'dropped retries', () => 'odd' as Result, [passes(1000)]],
    ['timeout', 'dropped retries', () => NEVER, [passes(1000)], { maxReconcileTime: 50 }],
    ['stop while ready', 'dropped stopped', () => NEVER, [other, stop, passes(10)]],
    ['stop while waiting', 'dropped stopped', () => ({ error: 1 }), [stop]],
    ['stop while polling', 'dropped stopped', () => ({ requeueDelay: 500 }), [stop]],
    ['stop while running', 'succeeded', (_, takes) => takes(5), [stop, passes(5)]],
    ['stop while dirty', 'dropped stopped', (_, takes) => takes(5), [twice, stop, passes(5)]],
    [
      'stop, then failure',
      'dropped stopped',
      (_, takes) =>
        concat(
          takes(5),
          throwError(() => BOOM),
        ),
      [stop, passes(5)],
    ],
    ['given up at a stop', 'dropped stopped', () => NEVER, [stop, passes(10)]],
    [
      'leadership loss',
      'dropped stopped',
      () => NEVER,
      [
        other,
        twice,
        ({ reset }) => {
          reset.next();
        },
      ],
    ],
    [
      'dropped while dirty',
      'dropped terminal',
      (_, takes) =>
        concat(
          takes(5),
          throwError(() => new TerminalError('')),
        ),
      [twice, passes(1000)],
    ],
  ])('should hold for: %s', (_, last, reconciler, acts, config) => {
    const loop = traced(reconciler, config);
    loop.events.next('x');
    for (const act of acts) act(loop);
    expect(loop.kinds().at(-1)).toBe(last);
    expect(loop.balance.started).toBe(loop.spans('reconcile').length + loop.spans('handle').length);
    expect(loop.balance.started).toBe(loop.balance.ended);
    expect(loop.spans('handle')).toHaveLength(loop.kinds().filter((kind) => kind === 'started').length);
    const roots = new Set(loop.spans('reconcile').map((root) => root.spanContext().spanId));
    for (const { parentSpanContext } of loop.spans('handle')) expect(roots).toContain(parentSpanContext?.spanId);
  });

  // prettier-ignore -- aligned
  it.each<[string, Parameters<typeof traced>[0], number]>([
    ['running and ready', () => NEVER, 3],
    ['waiting', () => ({ error: 1 }), 2],
    ['polling', () => ({ requeueDelay: 500 }), 0],
  ])('should hold when it is unsubscribed while %s', (_, reconciler, open) => {
    const { events, subscription, balance } = traced(reconciler);
    events.next('x');
    events.next('y');
    expect(balance.started - balance.ended).toBe(open);
    subscription.unsubscribe();
    expect(balance.started).toBe(balance.ended);
  });

  it('should hold for a source that fails', () => {
    const { tracer, balance } = tracedSdk();
    const traces = tracing({ tracer });
    const source = new Subject<string>();
    const failed = vi.fn();
    source
      .pipe(
        reconcile(() => NEVER, { shutdownGrace: 0 }),
        traces.record(),
      )
      .subscribe({ error: failed });
    source.next('x');
    expect(balance.started - balance.ended).toBe(2);
    vi.useFakeTimers();
    source.error(BOOM);
    vi.runAllTimers();
    vi.useRealTimers();
    expect(failed).toHaveBeenCalledWith(BOOM);
    expect(balance.started).toBe(balance.ended);
  });

  it('should hold for a promise that outlives its timeout, and an event that comes meanwhile', async () => {
    vi.useFakeTimers();
    const { tracer, balance, spans } = tracedSdk();
    const traces = tracing({ tracer });
    const source = new Subject<string>();
    const hung = deferred();
    let runs = 0;
    source
      .pipe(
        reconcile(() => (runs++ === 0 ? hung.promise : undefined), { maxReconcileTime: 50, maxItemRetries: 0 }),
        traces.record(),
      )
      .subscribe();
    source.next('x');
    await vi.advanceTimersByTimeAsync(50);
    expect(balance.started).toBe(balance.ended);
    source.next('x');
    hung.resolve();
    await vi.advanceTimersByTimeAsync(1000);
    vi.useRealTimers();
    expect(spans('reconcile').map(({ attributes }) => attributes['dropped'])).toEqual(['retries', undefined]);
    expect(balance.started).toBe(balance.ended);
  });

  it('should say by their status whether it went well: stopping is neither', () => {
    const loop = traced((id) => (id === 'poll' ? { requeueDelay: 5 } : NEVER), { delayQueueSize: 0 });
    loop.events.next('poll');
    loop.events.next('x');
    loop.stop.next();
    loop.pass(10);
    // prettier-ignore -- aligned
    expect(loop.spans().map(({ name, attributes, status }) => [name, attributes['id'], attributes['dropped'], status.code])).toEqual([
      ['handle', 'poll', undefined, SpanStatusCode.OK],
      ['reconcile', 'poll', 'delay_queue_full', SpanStatusCode.OK],
      ['handle', 'x', undefined, SpanStatusCode.UNSET],
      ['reconcile', 'x', 'stopped', SpanStatusCode.UNSET],
    ]);
  });
});

describe('the links of a trace', () => {
  beforeEach(() => {
    propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  });
  afterEach(() => {
    propagation.disable();
  });

  // prettier-ignore -- aligned
  it.each<[string, unknown, boolean]>([
    ['an OpenTelemetry Context', inContext(1), true],
    ['a carrier', { traceparent: `00-${origin(1).traceId}-${'b'.repeat(16)}-01` }, true],
    ['a context without a span', ROOT_CONTEXT, false],
    ['a carrier of something else', { hello: 'world' }, false],
    ['no object', 'traceparent', false],
    ['nothing', undefined, false],
    ['null', null, false],
  ])('should lead to where its event came from: %s', (_, context, links) => {
    const { events, spans } = traced(() => undefined);
    events.next({ id: 'x', context });
    expect(linked(spans('reconcile')[0]!)).toEqual(links ? [origin(1).traceId] : []);
  });

  it('should lead to the events that were merged, too', () => {
    const { events, spans, pass } = traced((id, takes) => takes(id === 'first' ? 5 : 0));
    events.next('first');
    events.next({ id: 'x', context: inContext(1) });
    events.next({ id: 'x', context: inContext(2) });
    events.next({ id: 'x' });
    pass(10);
    const root = spans('reconcile')[1]!;
    expect(eventsOf(root)).toEqual(['enqueue', 'merged', 'merged', 'dequeue']);
    expect(linked(root)).toEqual([origin(1).traceId, origin(2).traceId]);
  });

  it('should lead from the run after to the events that came during a run', () => {
    const { events, spans, pass } = traced((_, takes) => takes(5));
    events.next('x');
    events.next({ id: 'x', stream: 'feed', context: inContext(1) });
    events.next({ id: 'x', stream: 'files', context: inContext(2) });
    pass(20);
    const [first, second] = spans('reconcile');
    expect(linked(first!)).toEqual([origin(1).traceId, origin(2).traceId]);
    expect(linked(second!)).toEqual([origin(1).traceId, origin(2).traceId]);
    expect(second!.attributes).toEqual({ id: 'x', stream: 'feed' });
    expect(eventsOf(second!)).toEqual(['enqueue', 'dequeue']);
  });

  it('should part the events that came during a run by what was discarded meanwhile', () => {
    const commands = new Subject<Command>();
    const { events, spans, pass } = traced((_, takes) => takes(5), { commands });
    events.next('web');
    events.next({ id: 'web', stream: 'feed', context: inContext(1) });
    commands.next({ kind: 'discard', id: 'web' });
    events.next({ id: 'web', stream: 'files', context: inContext(2) });
    events.next({ id: 'web', stream: 'files', context: inContext(3) });
    pass(20);
    const [, discarded, served] = spans('reconcile');
    expect(linked(discarded!)).toEqual([origin(1).traceId]);
    expect(discarded!.attributes).toEqual({ id: 'web', stream: 'feed', dropped: 'discarded' });
    expect(linked(served!)).toEqual([origin(2).traceId, origin(3).traceId]);
    expect(served!.attributes).toEqual({ id: 'web', stream: 'files' });
  });

  it('should lead to the event that pulled a retry forward, and not again from the trace after', () => {
    let runs = 0;
    const { events, spans, pass } = traced((_, takes) =>
      runs++ === 0
        ? concat(
            takes(5),
            throwError(() => BOOM),
          )
        : undefined,
    );
    events.next('x');
    events.next({ id: 'x', context: inContext(1) });
    pass(5);
    events.next({ id: 'x', context: inContext(2) });
    pass(1000);
    events.next('x');
    const [first, second] = spans('reconcile');
    expect(linked(first!)).toEqual([origin(1).traceId, origin(2).traceId]);
    expect(linked(second!)).toEqual([]);
  });

  it('should lead to the event that came while an id was polling, and to the poll', () => {
    const { events, spans } = traced((_, __, ___, reason) => (reason === 'event' ? { requeueDelay: 500 } : {}));
    events.next('x');
    events.next({ id: 'x', context: inContext(1) });
    expect(linked(spans('reconcile')[1]!)).toEqual([spans('reconcile')[0]!.spanContext().traceId, origin(1).traceId]);
  });

  it('should not lead to a poll that was dropped', () => {
    const { events, reset, spans } = traced((_, __, ___, reason) => (reason === 'event' ? { requeueDelay: 500 } : {}));
    events.next('x');
    reset.next();
    events.next('x');
    expect(linked(spans('reconcile')[1]!)).toEqual([]);
  });

  it('should be 128 at most, the first ones', () => {
    const { events, spans, pass } = traced((_, takes) => takes(5));
    events.next('x');
    for (let n = 1; n <= 200; n++) events.next({ id: 'x', context: inContext(n) });
    pass(20);
    for (const root of spans('reconcile')) {
      expect(linked(root)).toHaveLength(128);
      expect(linked(root).at(-1)).toBe(origin(128).traceId);
    }
  });

  it('should lead to the events that one has absorbed, too', () => {
    const { events, spans } = traced(() => undefined);
    const absorbed = [{ id: 'web', context: inContext(2) }, { id: 'web' }, { id: 'web', absorbed: [{ id: 'web', context: inContext(3) }] }];
    events.next({ id: 'web', context: inContext(1), absorbed });
    expect(linked(spans('reconcile')[0]!)).toEqual([1, 2, 3].map((n) => origin(n).traceId));
  });

  it('should do no harm if they cannot be read', () => {
    propagation.setGlobalPropagator({
      inject: () => undefined,
      extract: () => {
        throw BOOM;
      },
      fields: () => [],
    });
    const { events, kinds } = traced(() => undefined);
    events.next({ id: 'x', context: {} });
    expect(kinds()).toEqual(['enqueued', 'started', 'succeeded']);
  });
});

describe('steps that no event made', () => {
  const base = { id: 'web', worker: 0, at: 0 };
  const follow = (...steps: Step[]) => {
    const { tracer, spans, balance } = tracedSdk();
    of(...steps)
      .pipe(tracing({ tracer }).record())
      .subscribe();
    expect(balance.started).toBe(balance.ended);
    return spans;
  };
  const enqueued: Step = { ...base, kind: 'enqueued', reason: 'event' };
  const started: Step = { ...base, kind: 'started', attempt: 1, reason: 'event', streams: [], waited: 0 };

  it('should be events of the trace that they hold up, and make none of their own', () => {
    expect(follow({ ...base, kind: 'paused' }, { ...base, id: '', worker: -1, kind: 'paused' })()).toEqual([]);
    const [root] = follow(enqueued, { ...base, kind: 'paused', why: 'ann' }, { ...base, kind: 'resumed' })();
    expect(root!.events.map(({ name, attributes }) => [name, attributes])).toEqual([
      ['enqueue', {}],
      ['paused', { why: 'ann' }],
      ['resumed', {}],
    ]);
  });

  it('should not make an error of a run that was superseded', () => {
    const superseded: Step = { ...base, kind: 'requeued', attempt: 1, took: 1, delay: 1, failure: 'superseded' };
    const [handle] = follow(enqueued, started, superseded)('handle');
    expect(handle).toMatchObject({ attributes: { superseded: true }, status: { code: SpanStatusCode.UNSET }, events: [] });
  });
});

describe('tracing as an operator', () => {
  // prettier-ignore -- aligned
  it.each<[string, unknown, RegExp]>([
    ['tracer', 'x', /`tracer` to be a Tracer/],
    ['tracer', null, /`tracer` to be a Tracer/],
    ['maxItemRetries', -1, /`maxItemRetries` to be a number >= 0/],
    ['maxItemRetries', '5', /`maxItemRetries` to be a number >= 0/],
  ])('should throw at the call if %s is %o', (field, value, message) => {
    expect(() => tracing({ [field]: value })).toThrow(message);
  });

  it('should start anew when it is subscribed to again after its end', () => {
    const { tracer, balance, spans } = tracedSdk();
    const { traced, record } = tracing({ tracer });
    const source = new Subject<string>();
    const loop = source.pipe(reconcile(traced(() => NEVER)), record());
    const live = (): void => {
      const subscription = loop.subscribe();
      source.next('x');
      subscription.unsubscribe();
    };
    live();
    live();
    expect(spans('reconcile')).toHaveLength(2);
    expect(balance.started).toBe(balance.ended);
  });

  it('should know the span of the step that is being passed on, and of an id that is open', () => {
    const { tracer, spans } = tracedSdk();
    const { traced, record, spanContext } = tracing({ tracer });
    const seen: Record<string, string | undefined> = {};
    let inside: string | undefined;
    of('x')
      .pipe(
        reconcile(
          traced(() => {
            inside = spanContext('x')?.spanId;
          }),
        ),
        record(),
      )
      .subscribe((step) => {
        seen[step.kind] = spanContext(step)?.spanId;
      });
    const [handle, root] = spans().map((span) => span.spanContext().spanId);
    expect(seen).toEqual({ enqueued: root, started: handle, succeeded: handle });
    expect(inside).toBe(handle);
    expect(spanContext('x')).toBeUndefined();
  });

  it('should put nothing between where there is no SDK, and take none that is registered later', () => {
    const { provider, spans } = tracedSdk();
    const steps = new Subject<Step>();
    const subscribed = vi.spyOn(steps, 'subscribe');
    const { record } = tracing();
    steps.pipe(record()).subscribe();
    trace.setGlobalTracerProvider(provider);
    try {
      steps.next({ kind: 'enqueued', id: 'x', worker: 0, at: 0, reason: 'event', trigger: { id: 'x' } });
      expect((subscribed.mock.calls[0]?.[0] as object).constructor.name).toBe('SafeSubscriber');
      expect(spans()).toEqual([]);
    } finally {
      trace.disable();
    }
  });

  it('should take a tracer that was had before the SDK was registered', () => {
    const tracer = trace.getTracer('early');
    const { provider, spans } = tracedSdk();
    trace.setGlobalTracerProvider(provider);
    try {
      const { traced, record } = tracing({ tracer });
      of('x')
        .pipe(reconcile(traced(() => undefined)), record())
        .subscribe();
      expect(spans('handle')).toHaveLength(1);
    } finally {
      trace.disable();
    }
  });

  it('should ask a tracer that does nothing once', () => {
    const tracer = trace.getTracer('none');
    const startSpan = vi.spyOn(tracer, 'startSpan');
    const { traced, record } = tracing({ tracer });
    const kinds: string[] = [];
    of('x', 'y')
      .pipe(reconcile(traced(() => undefined)), record())
      .subscribe(({ kind }) => kinds.push(kind));
    expect(startSpan).toHaveBeenCalledOnce();
    expect(kinds).toEqual(['enqueued', 'started', 'succeeded', 'enqueued', 'started', 'succeeded']);
  });

  it('should go on with a tracer that samples nothing, so that what runs inside is not sampled either', () => {
    const provider = new BasicTracerProvider({ sampler: new AlwaysOffSampler() });
    const { traced, record, spanContext } = tracing({ tracer: provider.getTracer('x') });
    const inside: unknown[] = [];
    of('x', 'y')
      .pipe(reconcile(traced((id) => void inside.push(spanContext(id)?.traceFlags))), record())
      .subscribe();
    expect(inside).toEqual([TraceFlags.NONE, TraceFlags.NONE]);
  });
});
