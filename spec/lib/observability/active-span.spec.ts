import { context, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  concat,
  defer,
  finalize,
  from,
  ignoreElements,
  lastValueFrom,
  mergeMap,
  NEVER,
  Observable,
  of,
  Subject,
  tap,
  timer,
  toArray,
} from 'rxjs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tracing } from 'kreconciler';
import { reconcile, type ReconcileConfig, type Reconciler, type Result, type Step } from 'kreconciler/operators';
import { tracedSdk } from '../../support/traced.js';

beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
});
afterAll(() => {
  context.disable();
});

const activeId = (): unknown => (trace.getActiveSpan() as { attributes?: Record<string, unknown> } | undefined)?.attributes?.['id'];
const activeName = (): unknown => (trace.getActiveSpan() as { name?: string } | undefined)?.name;

/** What the active span was wherever user code ran, and wherever a step was seen. */
async function watched(
  reconciler: (id: string, look: () => void) => ReturnType<Reconciler>,
  ids = ['a', 'b', 'c'],
  config: ReconcileConfig = {},
) {
  const { tracer, spans } = tracedSdk();
  const { traced, record } = tracing({ tracer });
  const inside: [string, unknown, unknown][] = [];
  const outside: unknown[] = [];
  const steps: Step[] = await lastValueFrom(
    from(ids).pipe(
      reconcile(
        traced((id) => reconciler(id, () => inside.push([id, activeId(), activeName()]))),
        config,
      ),
      record(),
      tap(() => outside.push(activeId())),
      toArray(),
    ),
  );
  return { steps, spans, inside, outside };
}

/** Each calls `look` wherever code of the user runs. */
const FORMS: [form: string, looks: number, reconciler: (id: string, look: () => void) => ReturnType<Reconciler>][] = [
  [
    'synchronous',
    1,
    (_, look) => {
      look();
    },
  ],
  [
    'a promise',
    3,
    async (_, look) => {
      look();
      await Promise.resolve();
      look();
      await sleep(1);
      look();
    },
  ],
  [
    'a thenable that works when asked',
    1,
    (_, look) =>
      ({
        then: (resolve: (value: undefined) => void) => {
          look();
          resolve(undefined);
        },
      }) as unknown as Promise<undefined>,
  ],
  [
    'an Observable',
    4,
    (_, look) => {
      look();
      return defer(() => {
        look();
        return timer(1);
      }).pipe(tap(look), ignoreElements(), finalize(look));
    },
  ],
  [
    'an Observable at once',
    3,
    (_, look) =>
      defer(() => {
        look();
        return of(undefined);
      }).pipe(tap(look), finalize(look)),
  ],
  [
    'an Observable of promises',
    3,
    (_, look) =>
      of(1).pipe(
        tap(look),
        mergeMap(async () => {
          await sleep(1);
          look();
        }),
        tap(look),
      ),
  ],
  [
    'an async generator',
    3,
    async function* (_, look) {
      look();
      yield undefined;
      look();
      await sleep(1);
      look();
      yield undefined;
    },
  ],
  [
    'a generator',
    2,
    function* (_, look) {
      look();
      yield undefined;
      look();
    },
  ],
];

describe.each(FORMS)('the span `handle`, for %s,', (_, looks, reconciler) => {
  it.each([1, 3])('should be active wherever code of the user runs, and for nobody else, with %i lanes', async (workerCount) => {
    const ids = ['a', 'b', 'c'];
    const { inside, outside, steps, spans } = await watched(reconciler, ids, {
      workerCount,
      workerHasher: (id) => ids.indexOf(id) % workerCount,
    });
    expect(steps.filter(({ kind }) => kind === 'succeeded')).toHaveLength(3);
    expect(inside).toHaveLength(3 * looks);
    for (const [id, active, name] of inside) expect([active, name]).toEqual([id, 'handle']);
    expect(outside).toEqual(steps.map(() => undefined));
    expect(spans('handle')).toHaveLength(3);
  });
});

describe('the span `handle`', () => {
  it('should be the parent of what instrumented clients do, also of ids that interleave', async () => {
    const { tracer, spans } = tracedSdk();
    const { traced, record } = tracing({ tracer });
    const query = async (id: string): Promise<void> => {
      const span = tracer.startSpan('query', { attributes: { id } });
      await sleep(Math.random() * 3);
      span.end();
    };
    const reconciler: Reconciler = async (id) => {
      await query(id);
      await Promise.all([query(id), query(id)]);
    };
    const ids = Array.from({ length: 50 }, (_, n) => `id ${String(n)}`);
    await lastValueFrom(from(ids).pipe(reconcile(traced(reconciler), { workerCount: 8 }), record()));
    const handles = new Map(spans('handle').map((span) => [span.spanContext().spanId, span.attributes['id']]));
    const queries = spans('query');
    expect(queries).toHaveLength(150);
    for (const { parentSpanContext, attributes } of queries) expect(handles.get(parentSpanContext!.spanId)).toBe(attributes['id']);
  });

  it('should be active when an Observable is unsubscribed because it is over time', async () => {
    const seen: unknown[] = [];
    const { steps } = await watched(
      (_, look) =>
        NEVER.pipe(
          finalize(() => {
            look();
            seen.push(activeName());
          }),
        ),
      ['x'],
      { maxReconcileTime: 5, maxItemRetries: 0 },
    );
    expect(steps.at(-1)).toMatchObject({ kind: 'dropped', failure: 'timeout' });
    expect(seen).toEqual(['handle']);
  });

  it('should not have the span of an event for a parent in whose midst the loop was woken', async () => {
    const { tracer, spans } = tracedSdk();
    const { traced, record } = tracing({ tracer });
    const events = new Subject<string>();
    const done = lastValueFrom(
      events.pipe(
        reconcile(
          traced(async () => {
            await Promise.resolve();
            tracer.startSpan('query').end();
          }),
        ),
        record(),
      ),
    );
    const request = tracer.startSpan('request');
    context.with(trace.setSpan(context.active(), request), () => {
      events.next('x');
    });
    events.complete();
    await done;
    const [query, handle, root] = spans();
    expect(root).toMatchObject({ name: 'reconcile', parentSpanContext: undefined });
    expect(query!.parentSpanContext!.spanId).toBe(handle!.spanContext().spanId);
    expect(query!.spanContext().traceId).not.toBe(request.spanContext().traceId);
  });

  // prettier-ignore -- aligned
  it.each<[string, () => ReturnType<Reconciler>, Partial<Step>]>([
    [
      'a throw',
      () => {
        throw new Error('boom');
      },
      { failure: 'thrown' },
    ],
    ['a rejection', () => Promise.reject(new Error('boom')), { failure: 'thrown' }],
    [
      'an Observable error',
      () =>
        new Observable((s) => {
          s.error(new Error('boom'));
        }),
      { failure: 'thrown' },
    ],
    ['a reported error', () => ({ error: new Error('boom') }), { failure: 'reported' }],
    ['an odd answer', () => 'odd' as Result, { failure: 'invalid' }],
    ['an odd last value', () => concat(of(undefined), of('odd' as Result)), { failure: 'invalid' }],
    ['an empty list', () => [], { kind: 'succeeded' }],
    ['null', () => null as unknown as undefined, { kind: 'succeeded' }],
  ] as never)('should leave the answer as it is: %s', async (_, answer: () => ReturnType<Reconciler>, last) => {
    const { steps } = await watched(answer, ['x'], { maxItemRetries: 0 });
    expect(steps.at(-1)).toMatchObject(last);
  });

  it('should stop an async generator that is over time, as without tracing', async () => {
    let returned = false;
    const { steps } = await watched(
      async function* () {
        try {
          for (;;) {
            await sleep(2);
            yield undefined;
          }
        } finally {
          returned = true;
        }
      },
      ['x'],
      { maxReconcileTime: 10, maxItemRetries: 0 },
    );
    expect(steps.map(({ kind }) => kind)).toEqual(['enqueued', 'started', 'dropped', 'abandoned', 'released']);
    expect(returned).toBe(true);
  });
});
