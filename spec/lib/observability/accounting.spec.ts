import { concatMap, from, ignoreElements, map, merge, NEVER, type Observable, of, timer, VirtualTimeScheduler } from 'rxjs';
import { expect, it } from 'vitest';
import { instrument, noopLogger } from 'kreconciler';
import {
  constant,
  type Dropped,
  reconcile,
  type Reconciler,
  type Requeued,
  type Result,
  type Step,
  type Succeeded,
  TerminalError,
  type Trigger,
} from 'kreconciler/operators';
import { meteredSdk, series, total } from '../../support/metered.js';
import { tracedSdk } from '../../support/traced.js';

const IDS = 10_000;
const WORKERS = 4;
const STREAMS = ['files', 'feed', 'resync'];
const SETTLED = 7;

function failureOf(step: Step): string | undefined {
  return (step as Partial<Requeued>).failure;
}

/** Ids whose numbers end alike fare alike. */
function fate(scheduler: VirtualTimeScheduler): Reconciler {
  const takes = (ms: number): Observable<never> => timer(ms, scheduler).pipe(ignoreElements());
  return (id, { attempt, reason }) => {
    switch (Number(id) % 10) {
      case 3:
        return attempt < 3 ? { error: id } : undefined;
      case 4:
        throw new Error(`always ${id}`);
      case 5:
        throw new TerminalError(id);
      case 6:
        return reason === 'event' ? { requeueDelay: 1000 } : undefined;
      case 7:
        return attempt === 1 ? ('odd' as Result) : undefined;
      case 8:
        return takes(3);
      case 9:
        return attempt === 1 ? NEVER : undefined;
      default:
        return undefined;
    }
  };
}

/** In bursts that are more than the queues hold; some ids twice, some unroutable, some that are none. */
function events(scheduler: VirtualTimeScheduler): Observable<Trigger> {
  const ids = Array.from({ length: IDS }, (_, n) => String(n));
  const bursts = Array.from({ length: IDS / 500 }, (_, n) =>
    ids.slice(n * 500, (n + 1) * 500).flatMap((id) => (Number(id) % 7 === 0 ? [id, id] : Number(id) % 501 === 0 ? [id, ''] : [id])),
  );
  return from(bursts).pipe(
    concatMap((burst) => merge(of(...burst), timer(500, scheduler).pipe(ignoreElements()))),
    map((id, n) => ({ id, stream: STREAMS[n % STREAMS.length]! })),
  );
}

it('should agree with the steps to the last one, over 10,000 ids of mixed outcomes, with few series and no span left open', async () => {
  const scheduler = new VirtualTimeScheduler();
  const metrics = meteredSdk();
  const traces = tracedSdk();
  const workerName = (worker: number): string => `lane ${worker}`;
  const telemetry = instrument(
    { logger: noopLogger, meterProvider: metrics.provider, tracerProvider: traces.provider },
    { name: 'zones', workerName, scheduler, maxItemRetries: 2 },
  );
  const steps: Step[] = [];
  events(scheduler)
    .pipe(
      reconcile(telemetry.traced(fate(scheduler)), {
        maxItemRetries: 2,
        workerCount: WORKERS,
        workerName,
        workerHasher: (id) => (id === '13' ? -1 : Number(id) % WORKERS),
        workerQueueSize: 60,
        delayQueueSize: 20,
        delayResolution: 100,
        backoff: constant(100),
        maxReconcileTime: 50,
        stop: timer(9000, scheduler),
        shutdownGrace: 20,
        scheduler,
      }),
      telemetry.steps,
    )
    .subscribe((step) => steps.push(step));
  scheduler.flush();

  const all = await metrics.collect();
  const count = (is: (step: Step) => boolean): number => steps.filter(is).length;
  const settled = steps.filter((step): step is Succeeded | Requeued | Dropped => ['succeeded', 'requeued', 'dropped'].includes(step.kind));
  const failed = (step: Succeeded | Requeued | Dropped): boolean => failureOf(step) !== undefined;
  const dropped = (reason: Dropped['reason']): number => count((step) => step.kind === 'dropped' && step.reason === reason);
  const expected: Record<string, [name: string, where: Record<string, unknown>, steps: number][]> = {
    events: STREAMS.flatMap((stream) =>
      [true, false].map((error): [string, Record<string, unknown>, number] => [
        'stream_event_count',
        { stream, error },
        count(({ kind, trigger }) => trigger?.stream === stream && (kind === 'rejected' ? error : !error)),
      ]),
    ),
    queue: [
      ['enqueue', { status: 'ok' }, count(({ kind }) => kind === 'enqueued')],
      ['enqueue', { status: 'already_present' }, count(({ kind }) => kind === 'merged')],
      ['enqueue', { status: 'queue_full' }, count((step) => step.kind === 'rejected' && step.reason === 'full')],
      ['dequeue', {}, count(({ kind }) => kind === 'started')],
      ['queue_millis', {}, count(({ kind }) => kind === 'started')],
    ],
    results: [
      ['handle_result', { result: 'ok' }, count(({ kind }) => kind === 'succeeded')],
      ['handle_result', { result: 'error_requeue' }, settled.filter((step) => step.kind === 'requeued' && failed(step)).length],
      ['handle_result', { result: 'delay_requeue' }, settled.filter((step) => step.kind === 'requeued' && !failed(step)).length],
      ['handle_result', { result: 'drop_max_tries' }, dropped('retries')],
      ['handle_result', { result: 'drop_terminal' }, dropped('terminal')],
      ['handle_result', { result: 'drop_delay_queue_full' }, dropped('delay_queue_full')],
      ['handle_result', { result: 'drop_stopped' }, dropped('stopped')],
    ],
    runs: [
      ['handle_millis', { error: true }, settled.filter((step) => failed(step)).length],
      ['handle_millis', { error: false }, settled.filter((step) => step.took !== undefined && !failed(step)).length],
      ['requeue_delay_millis', {}, count(({ kind }) => kind === 'requeued')],
      ['handler_panic', {}, settled.filter((step) => ['thrown', 'invalid'].includes(failureOf(step) ?? '')).length],
    ],
  };
  for (const [name, where, expectation] of Object.values(expected).flat()) {
    expect(expectation, `the run is to have ${name} ${JSON.stringify(where)}`).toBeGreaterThan(0);
    expect(total(all, `kreconciler_${name}`, where), `${name} ${JSON.stringify(where)}`).toBe(expectation);
  }
  for (let worker = 0; worker < WORKERS; worker++) {
    expect(total(all, 'kreconciler_dequeue', { workerId: worker, workerName: `lane ${worker}` })).toBe(
      count((step) => step.kind === 'started' && step.worker === worker),
    );
  }
  expect(total(all, 'kreconciler_handle_millis')).toBe(total(all, 'kreconciler_dequeue'));

  for (const name of all.keys()) {
    const found = series(all, name);
    expect(found.length, name).toBeLessThanOrEqual(name === 'kreconciler_stream_event_count' ? STREAMS.length * 2 : WORKERS * SETTLED);
    for (const { attributes, value } of found) {
      expect(value).toBeGreaterThanOrEqual(0);
      expect(Object.keys(attributes)).toEqual(expect.arrayContaining(['controller']));
      expect(JSON.stringify(attributes)).not.toMatch(/always|boom|\d{2}/);
    }
  }

  expect(traces.balance.started).toBeGreaterThan(IDS);
  expect(traces.balance.started).toBe(traces.balance.ended);
  expect(traces.spans('handle')).toHaveLength(count(({ kind }) => kind === 'started'));
}, 60_000);
