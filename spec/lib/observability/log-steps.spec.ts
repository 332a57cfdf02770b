import { from, NEVER, of, Subject, throwError } from 'rxjs';
import { describe, expect, it, vi } from 'vitest';
import { type Logger, logSteps, noopLogger, tracing } from 'kreconciler';
import { reconcile, type Step } from 'kreconciler/operators';
import { type Line, logged } from '../../support/logged.js';
import { tracedSdk } from '../../support/traced.js';

const BOOM = new Error('boom');
const x = { id: 'x', worker: 0, at: 1000 };
const run = { ...x, attempt: 1, took: 5 };
const trigger = { id: 'x', stream: 'files', message: 'a secret' };

function linesOf(...steps: Step[]): Line[] {
  const { logger, lines } = logged();
  from(steps).pipe(logSteps(logger)).subscribe();
  return lines;
}

describe('logSteps', () => {
  // prettier-ignore -- aligned
  it.each<[level: string, step: Step, fields: object]>([
    ['debug', { ...x, kind: 'enqueued', reason: 'event', trigger }, { id: 'x', worker: 0, reason: 'event', stream: 'files' }],
    ['debug', { ...x, kind: 'merged', trigger: { id: 'x' } }, { id: 'x', worker: 0 }],
    [
      'debug',
      { ...x, kind: 'started', attempt: 2, reason: 'retry', streams: ['files'], waited: 3 },
      { id: 'x', worker: 0, attempt: 2, reason: 'retry', streams: ['files'], waited: 3 },
    ],
    ['debug', { ...run, kind: 'succeeded' }, { id: 'x', worker: 0, attempt: 1, took: 5 }],
    ['debug', { ...run, kind: 'requeued', delay: 7 }, { id: 'x', worker: 0, attempt: 1, took: 5, delay: 7 }],
    [
      'warn',
      { ...run, kind: 'requeued', delay: 7, failure: 'thrown', error: BOOM },
      { id: 'x', worker: 0, attempt: 1, took: 5, delay: 7, failure: 'thrown', error: BOOM },
    ],
    [
      'warn',
      { ...run, kind: 'dropped', reason: 'retries', failure: 'thrown', error: BOOM },
      { id: 'x', worker: 0, attempt: 1, took: 5, reason: 'retries', failure: 'thrown', error: BOOM },
    ],
    [
      'warn',
      { ...run, kind: 'dropped', reason: 'delay_queue_full' },
      { id: 'x', worker: 0, attempt: 1, took: 5, reason: 'delay_queue_full' },
    ],
    ['debug', { ...x, kind: 'dropped', attempt: 1, reason: 'stopped' }, { id: 'x', worker: 0, attempt: 1, reason: 'stopped' }],
    [
      'warn',
      { ...run, kind: 'dropped', reason: 'stopped', failure: 'thrown', error: BOOM },
      { id: 'x', worker: 0, attempt: 1, took: 5, reason: 'stopped', failure: 'thrown', error: BOOM },
    ],
    [
      'debug',
      { ...x, worker: -1, kind: 'rejected', reason: 'unrouted', trigger },
      { id: 'x', worker: -1, reason: 'unrouted', stream: 'files' },
    ],
    ['warn', { ...x, kind: 'rejected', reason: 'full', trigger }, { id: 'x', worker: 0, reason: 'full', stream: 'files' }],
    [
      'warn',
      { ...x, worker: -1, kind: 'rejected', reason: 'invalid_id', error: BOOM },
      { id: 'x', worker: -1, reason: 'invalid_id', error: BOOM },
    ],
    ['warn', { ...x, kind: 'abandoned' }, { id: 'x', worker: 0 }],
    ['debug', { ...x, kind: 'released' }, { id: 'x', worker: 0 }],
    ['info', { ...x, kind: 'paused', why: 'ann: migrates it' }, { id: 'x', worker: 0, why: 'ann: migrates it' }],
    ['info', { ...x, kind: 'resumed' }, { id: 'x', worker: 0 }],
    ['info', { ...x, id: '', worker: -1, kind: 'paused', why: 'window' }, { why: 'window' }],
    ['info', { ...x, id: '', worker: -1, kind: 'resumed' }, {}],
    ['debug', { ...x, kind: 'rejected', reason: 'not_owned', trigger }, { id: 'x', worker: 0, reason: 'not_owned', stream: 'files' }],
    ['warn', { ...x, kind: 'rejected', reason: 'paused', trigger }, { id: 'x', worker: 0, reason: 'paused', stream: 'files' }],
    ['debug', { ...x, kind: 'dropped', attempt: 1, reason: 'discarded' }, { id: 'x', worker: 0, attempt: 1, reason: 'discarded' }],
    ['debug', { ...x, kind: 'dropped', attempt: 1, reason: 'moved' }, { id: 'x', worker: 0, attempt: 1, reason: 'moved' }],
    [
      'debug',
      { ...run, kind: 'requeued', delay: 7, failure: 'superseded' },
      { id: 'x', worker: 0, attempt: 1, took: 5, delay: 7, failure: 'superseded' },
    ],
  ])('should log at level %s: %o', (level, step, fields) => {
    expect(linesOf(step)).toEqual([[level, step.kind, fields]]);
  });

  it('should warn once a minute that events are rejected, for each reason', () => {
    const rejected = (at: number, reason: 'full' | 'hasher_failed'): Step => ({ ...x, at, kind: 'rejected', reason });
    const steps = [
      rejected(0, 'full'),
      rejected(1, 'full'),
      rejected(2, 'hasher_failed'),
      rejected(59_999, 'full'),
      rejected(60_000, 'full'),
      rejected(60_001, 'full'),
    ];
    expect(linesOf(...steps).map(([level]) => level)).toEqual(['warn', 'debug', 'warn', 'debug', 'warn', 'debug']);
  });

  it('should go on warning when the clock has been set back by an hour', () => {
    const rejected = (at: number): Step => ({ ...x, at, kind: 'rejected', reason: 'full' });
    const steps = [rejected(3_700_000), rejected(100_000), rejected(100_001), rejected(160_000)];
    expect(linesOf(...steps).map(([level]) => level)).toEqual(['warn', 'warn', 'debug', 'warn']);
  });

  it('should log as an error what ends the loop, and pass it on', () => {
    const { logger, lines } = logged();
    const error = vi.fn();
    throwError(() => BOOM)
      .pipe(logSteps(logger))
      .subscribe({ error });
    expect(lines).toEqual([['error', 'the loop has failed', { error: BOOM }]]);
    expect(error).toHaveBeenCalledWith(BOOM);
  });

  it('should name the span of each step: `handle` while there is one, else `reconcile`', () => {
    const { tracer, spans } = tracedSdk();
    const traces = tracing({ tracer });
    const { logger, lines } = logged();
    of('x')
      .pipe(
        reconcile(
          traces.traced(() => ({ error: BOOM })),
          { maxItemRetries: 0 },
        ),
        traces.record(),
        logSteps(logger, traces),
      )
      .subscribe();
    const [handle, root] = spans().map((span) => span.spanContext());
    expect(new Set(lines.map(([, , { traceId }]) => traceId))).toEqual(new Set([root!.traceId]));
    expect(lines.map(([, message, { spanId }]) => [message, spanId])).toEqual([
      ['enqueued', root!.spanId],
      ['started', handle!.spanId],
      ['dropped', handle!.spanId],
    ]);
  });

  it('should put nothing between for the logger that logs nothing', () => {
    const steps = new Subject<Step>();
    const subscribed = vi.spyOn(steps, 'subscribe');
    steps.pipe(logSteps(noopLogger.with({ app: 'dns' }))).subscribe();
    expect((subscribed.mock.calls[0]?.[0] as object).constructor.name).toBe('SafeSubscriber');
  });

  it('should make no fields for a level that goes nowhere', () => {
    const debug = vi.fn();
    const logger: Logger = { ...noopLogger, isEnabled: (level) => level !== 'debug', debug };
    of('x')
      .pipe(
        reconcile(() => undefined),
        logSteps(logger),
      )
      .subscribe();
    expect(debug).not.toHaveBeenCalled();
  });

  it('should not let a logger that throws end the loop, or hide why it ends', () => {
    const broken = (): never => {
      throw new Error('broken');
    };
    const logger: Logger = { with: () => logger, debug: broken, info: broken, warn: broken, error: broken };
    const seen = vi.fn();
    const error = vi.fn();
    const source = new Subject<string>();
    source
      .pipe(
        reconcile(() => NEVER, { shutdownGrace: 0, maxReconcileTime: 0 }),
        logSteps(logger),
      )
      .subscribe({ next: seen, error });
    source.next('x');
    expect(seen).toHaveBeenCalledTimes(2);
    vi.useFakeTimers();
    source.error(BOOM);
    vi.runAllTimers();
    vi.useRealTimers();
    expect(error).toHaveBeenCalledWith(BOOM);
  });

  it('should throw at the call if there is no logger', () => {
    expect(() => logSteps(undefined as unknown as Logger)).toThrow(/`logger` to be a Logger/);
  });
});
