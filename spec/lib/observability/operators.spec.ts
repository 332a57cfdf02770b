import { type MonoTypeOperatorFunction, of } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { instrument, logSteps, metered, observability, recordMetrics, tracing } from 'kreconciler';
import { logged } from '../../support/logged.js';
import { meteredSdk } from '../../support/metered.js';
import { tracedSdk } from '../../support/traced.js';
import type { Step } from 'kreconciler/operators';
import { marbles } from 'kreconciler/testing';

const x = { id: 'x', worker: 0, at: 0 };
const steps: Record<string, Step> = {
  e: { ...x, kind: 'enqueued', reason: 'event', trigger: { id: 'x' } },
  m: { ...x, kind: 'merged', trigger: { id: 'x' } },
  r: { ...x, kind: 'rejected', reason: 'full', trigger: { id: 'x' } },
  s: { ...x, kind: 'started', attempt: 1, reason: 'event', streams: [], waited: 0 },
  k: { ...x, kind: 'succeeded', attempt: 1, took: 0 },
  q: { ...x, kind: 'requeued', attempt: 1, took: 0, delay: 1 },
  d: { ...x, kind: 'dropped', attempt: 1, reason: 'terminal', took: 0, failure: 'thrown', error: new Error('boom') },
  a: { ...x, kind: 'abandoned' },
  l: { ...x, kind: 'released' },
};

// prettier-ignore -- aligned
describe.each<[string, () => MonoTypeOperatorFunction<Step>]>([
  ['recordMetrics', () => recordMetrics({ meter: meteredSdk().meter })],
  ['record', () => tracing({ tracer: tracedSdk().tracer }).record()],
  ['logSteps', () => logSteps(logged().logger)],
  ['metered', () => metered('files', meteredSdk().meter)],
  [
    'instrument',
    () =>
      instrument(observability({ meterProvider: meteredSdk().provider, tracerProvider: tracedSdk().provider, logger: logged().logger }))
        .steps,
  ],
])('%s', (_, operator) => {
  it.each([
    ['each kind of step', 'e-m-r-s-k-q-d-a-l-|', 'e-m-r-s-k-q-d-a-l-|'],
    ['many at once', '(eskesd)--(mr)|', '(eskesd)--(mr)|'],
    ['never', '-', '-'],
    ['empty', '|', '|'],
    ['an error', 'es#', 'es#'],
  ])('should pass on as it is: %s', (_name, source, expected) => {
    marbles(({ hot, expectObservable }) => {
      expectObservable(hot(source, steps).pipe(operator())).toBe(expected, steps);
    })();
  });

  it(
    'should let the source go when it is unsubscribed',
    marbles(({ hot, expectObservable, expectSubscriptions }) => {
      const source = hot('    e-s-k-e-s-k', steps);
      expectObservable(source.pipe(operator()), '^----!').toBe('e-s-k', steps);
      expectSubscriptions(source.subscriptions).toBe('        ^----!');
    }),
  );

  it('should have no state that a second subscription could see', () => {
    const once = operator();
    const seen: Step[] = [];
    const loop = of(...Object.values(steps)).pipe(once);
    loop.subscribe((step) => seen.push(step));
    loop.subscribe((step) => seen.push(step));
    expect(seen).toEqual([...Object.values(steps), ...Object.values(steps)]);
  });
});
