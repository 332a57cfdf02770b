import { metrics } from '@opentelemetry/api';
import { concat, from, NEVER, Observable, type ObservableInput, type Observer, of, Subject, throwError, VirtualTimeScheduler } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { recordMetrics, type RecordMetricsConfig } from 'kreconciler';
import { type Command, reconcile, type Reconciler, type Result, type Step, TerminalError } from 'kreconciler/operators';
import { deferred } from '../../support/deferred.js';
import { measured } from '../../support/measured.js';
import { meteredSdk, series, total } from '../../support/metered.js';

const LANE = { workerId: 0, workerName: 'default' };
const GAUGES = ['worker_queue_size', 'waiting', 'running', 'abandoned', 'oldest_unconverged_millis'].map((name) => `kreconciler_${name}`);

const BOOM = new Error('boom');

/** In a lane once each step that makes a series of its own. */
function everyStep(worker: number): readonly Step[] {
  const base = { id: `id-${worker}`, worker, at: 0 };
  const run = { ...base, attempt: 1, took: 1 };
  const dropped = ['retries', 'terminal', 'delay_queue_full', 'stopped', 'discarded', 'moved'] as const;
  return [
    { ...base, kind: 'enqueued', reason: 'event' },
    { ...base, kind: 'merged' },
    { ...base, kind: 'rejected', reason: 'full' },
    { ...base, kind: 'started', attempt: 1, reason: 'event', streams: [], waited: 0 },
    { ...run, kind: 'succeeded' },
    { ...run, kind: 'requeued', delay: 1 },
    { ...run, kind: 'requeued', delay: 1, failure: 'reported', error: BOOM },
    { ...run, kind: 'requeued', delay: 1, failure: 'superseded', error: BOOM },
    ...dropped.map((reason): Step => ({ ...run, kind: 'dropped', reason })),
  ];
}

describe('recordMetrics', () => {
  const fails =
    (times: number, failure: () => Result): Reconciler =>
    (_, { attempt }) =>
      attempt <= times ? failure() : undefined;

  // prettier-ignore -- aligned
  it.each<[string, Reconciler, Record<string, number>]>([
    ['a success', () => undefined, { ok: 1 }],
    ['a failure reported, then well', fails(1, () => ({ error: BOOM })), { error_requeue: 1, ok: 1 }],
    [
      'a failure thrown, then well',
      fails(1, () => {
        throw BOOM;
      }),
      { error_requeue: 1, ok: 1 },
    ],
    ['a poll, then well', (_, { reason }) => (reason === 'event' ? { requeueDelay: 1 } : {}), { delay_requeue: 1, ok: 1 }],
    ['failures without end', () => throwError(() => BOOM), { error_requeue: 2, drop_max_tries: 1 }],
    [
      'a terminal failure',
      () => {
        throw new TerminalError('no');
      },
      { drop_terminal: 1 },
    ],
  ])('should count how it ends: %s', async (_, reconciler, results) => {
    const { events, pass, collect } = measured(reconciler, { maxItemRetries: 2 });
    events.next('x');
    pass(10_000);
    const found = series(await collect(), 'kreconciler_handle_result');
    expect(Object.fromEntries(found.map(({ attributes, value }) => [attributes['result'], value]))).toEqual(results);
    for (const { attributes } of found) expect(attributes).toMatchObject(LANE);
  });

  it('should count a retry and a poll for which there is no room, and what a stop drops', async () => {
    const stop = new Subject<void>();
    const { events, pass, collect } = measured((id) => (id === 'poll' ? { requeueDelay: 1 } : id === 'fail' ? { error: BOOM } : NEVER), {
      delayQueueSize: 0,
      stop,
      shutdownGrace: 10,
    });
    for (const id of ['poll', 'fail', 'runs', 'ready']) events.next(id);
    stop.next();
    pass(100);
    const all = await collect();
    expect(total(all, 'kreconciler_handle_result', { result: 'drop_delay_queue_full' })).toBe(2);
    expect(total(all, 'kreconciler_handle_result', { result: 'drop_stopped' })).toBe(2);
    // Cut off at the end of the grace: handled, without an error (P5).
    expect(total(all, 'kreconciler_handle_millis', { error: false })).toBe(2);
    expect(total(all, 'kreconciler_handle_millis', { error: true })).toBe(1);
  });

  // prettier-ignore -- aligned
  it.each<[string, Reconciler, number]>([
    [
      'thrown',
      () => {
        throw BOOM;
      },
      1,
    ],
    ['invalid', () => 'odd' as Result, 1],
    ['reported', () => ({ error: BOOM }), 0],
    ['timeout', () => NEVER, 0],
  ])('should count a failure that was %s as a panic, or not', async (_, reconciler, panics) => {
    const { events, pass, collect, steps } = measured(reconciler, { maxItemRetries: 0, maxReconcileTime: 10 });
    events.next('x');
    pass(1000);
    expect(steps.at(-1)).toMatchObject({ kind: 'dropped' });
    expect(total(await collect(), 'kreconciler_handler_panic')).toBe(panics);
  });

  it('should distinguish panics that were thrown from odd answers, which are always a mistake', async () => {
    const { events, pass, collect } = measured(
      (id) => {
        if (id === 'throws') throw BOOM;
        return 'odd' as Result;
      },
      { maxItemRetries: 0 },
    );
    for (const id of ['throws', 'answers oddly']) events.next(id);
    pass(0);
    expect(series(await collect(), 'kreconciler_handler_panic')).toEqual([
      { attributes: { failure: 'thrown' }, value: 1 },
      { attributes: { failure: 'invalid' }, value: 1 },
    ]);
  });

  it.each([
    [199, undefined, false],
    [200, undefined, true],
    [200, 3000, false],
  ])(
    'should, with all that can happen in each of %i lanes and a limit of %s series, overflow an instrument: %s',
    async (lanes, limit, overflows) => {
      const { meter, collect } = meteredSdk(limit);
      from(Array.from({ length: lanes }, (_, worker) => everyStep(worker)).flat())
        .pipe(recordMetrics({ meter }))
        .subscribe();
      const metrics = await collect();
      const found = [...metrics.keys()].filter((name) => total(metrics, name, { 'otel.metric.overflow': true }) > 0);
      expect(found.length > 0).toBe(overflows);
    },
  );

  /** Shows each step, and then asks for a gauge at `now`. */
  async function gaugesAfter(steps: readonly Step[], now: number, config: RecordMetricsConfig = {}): Promise<(name: string) => number> {
    const { meter, collect } = meteredSdk();
    const scheduler = new VirtualTimeScheduler();
    scheduler.frame = now;
    const subscription = concat(from(steps), NEVER)
      .pipe(recordMetrics({ meter, scheduler, ...config }))
      .subscribe();
    const metrics = await collect();
    subscription.unsubscribe();
    return (name) => total(metrics, `kreconciler_${name}`);
  }

  const at = (at: number, id = 'web', worker = 0) => ({ id, worker, at });

  it('should count what is paused, and for how long, and not take it for what does not converge', async () => {
    const asked: Step[] = [
      { ...at(10), kind: 'enqueued', reason: 'event', trigger: { id: 'web' } },
      { ...at(50, 'api'), kind: 'enqueued', reason: 'event', trigger: { id: 'api' } },
    ];
    const paused: Step[] = [...asked, { ...at(20), kind: 'paused', why: 'ann' }, { ...at(30, 'idle'), kind: 'paused' }];
    const ids = await gaugesAfter(paused, 100);
    expect([ids('paused'), ids('loop_paused'), ids('oldest_pause_millis'), ids('oldest_unconverged_millis')]).toEqual([2, 0, 80, 50]);
    const loop = await gaugesAfter([...paused, { ...at(40), kind: 'resumed' }, { ...at(15, '', -1), kind: 'paused' }], 100);
    expect([loop('paused'), loop('loop_paused'), loop('oldest_pause_millis'), loop('oldest_unconverged_millis')]).toEqual([1, 1, 85, 0]);
    const none = await gaugesAfter([...paused, { ...at(40), kind: 'resumed' }, { ...at(40, 'idle'), kind: 'resumed' }], 100);
    expect([none('paused'), none('loop_paused'), none('oldest_pause_millis'), none('oldest_unconverged_millis')]).toEqual([0, 0, 0, 90]);
  });

  it('should count places that are taken and wanted, by workers that have one free while the loop has none', async () => {
    const enqueued = (id: string, worker: number): Step => ({ ...at(0, id, worker), kind: 'enqueued', reason: 'event' });
    const started = (id: string, worker: number): Step => ({
      ...at(0, id, worker),
      kind: 'started',
      attempt: 1,
      reason: 'event',
      streams: [],
      waited: 0,
    });
    const ids: [string, number][] = [
      ['web', 0],
      ['api', 0],
      ['db', 1],
    ];
    const steps = [...ids.map(([id, worker]) => enqueued(id, worker)), ...ids.map(([id, worker]) => started(id, worker))];
    const more = [...steps, enqueued('mail', 0), enqueued('cache', 1), enqueued('proxy', 1)];
    const full = await gaugesAfter(more, 0, { workerConcurrency: 2, concurrency: 3 });
    expect([full('running'), full('places_taken'), full('places_wanted')]).toEqual([3, 3, 1]);
    const free = await gaugesAfter(more, 0, { workerConcurrency: 2, concurrency: 4 });
    expect([free('places_taken'), free('places_wanted')]).toEqual([3, 0]);
  });

  it('should measure a loop that is paused, and that wants more places than it has', async () => {
    const commands = new Subject<Command>();
    const places = { workerConcurrency: 2, concurrency: 1 };
    const { events, pass, collect } = measured(() => NEVER, { commands, ...places, maxReconcileTime: 0 }, places);
    for (const id of ['web', 'api']) events.next({ id });
    commands.next({ kind: 'pause', id: 'db', why: 'ann: migrates it' });
    pass(500);
    const before = await collect();
    const gauge = (metrics: typeof before, name: string) => total(metrics, `kreconciler_${name}`);
    expect([gauge(before, 'running'), gauge(before, 'places_taken'), gauge(before, 'places_wanted')]).toEqual([1, 1, 1]);
    expect([gauge(before, 'paused'), gauge(before, 'loop_paused'), gauge(before, 'oldest_pause_millis')]).toEqual([1, 0, 500]);
    commands.next({ kind: 'resume', id: 'db' });
    commands.next({ kind: 'pause' });
    const after = await collect();
    expect([gauge(after, 'paused'), gauge(after, 'loop_paused'), gauge(after, 'oldest_unconverged_millis')]).toEqual([0, 1, 0]);
  });

  it('should count apart what another process owns, which is no error of its stream, and what was superseded, which is none of its run', async () => {
    const { meter, collect } = meteredSdk();
    const trigger = { id: 'web', stream: 'files' };
    const steps: Step[] = [
      { ...at(0), kind: 'rejected', reason: 'not_owned', trigger },
      { ...at(0), kind: 'rejected', reason: 'paused', trigger },
      { ...at(0), kind: 'requeued', attempt: 1, took: 1, delay: 1, failure: 'superseded' },
      { ...at(0), kind: 'dropped', attempt: 1, reason: 'moved' },
      { ...at(0), kind: 'dropped', attempt: 1, reason: 'discarded' },
    ];
    from(steps).pipe(recordMetrics({ meter })).subscribe();
    const metrics = await collect();
    expect(series(metrics, 'kreconciler_enqueue').map(({ attributes }) => attributes['status'])).toEqual(['not_owned', 'paused']);
    expect(series(metrics, 'kreconciler_stream_event_count').map(({ attributes }) => attributes['error'])).toEqual([false, true]);
    const results = ['superseded_requeue', 'drop_moved', 'drop_discarded'];
    expect(series(metrics, 'kreconciler_handle_result').map(({ attributes }) => attributes['result'])).toEqual(results);
    expect(series(metrics, 'kreconciler_handle_millis')).toEqual([{ attributes: { ...LANE, error: false }, value: 1 }]);
  });

  it('should count events by stream, and what became of them by lane', async () => {
    const { events, pass, collect } = measured(() => NEVER, { workerQueueSize: 1, workerHasher: (id) => (id === 'elsewhere' ? -1 : 0) });
    for (const id of ['runs', 'ready', 'ready', 'runs', 'full', 'elsewhere']) events.next({ id, stream: 'a' });
    events.next({ id: '', stream: 'b' });
    events.next({ id: 'ready', stream: 'b' });
    events.next('ready');
    pass(0);
    const all = await collect();
    expect(series(all, 'kreconciler_stream_event_count')).toEqual([
      { attributes: { stream: 'a', error: false }, value: 4 },
      { attributes: { stream: 'a', error: true }, value: 2 },
      { attributes: { stream: 'b', error: true }, value: 1 },
      { attributes: { stream: 'b', error: false }, value: 1 },
      { attributes: { stream: '', error: false }, value: 1 },
    ]);
    expect(series(all, 'kreconciler_enqueue')).toEqual([
      { attributes: { ...LANE, status: 'ok' }, value: 2 },
      { attributes: { ...LANE, status: 'already_present' }, value: 4 },
      { attributes: { ...LANE, status: 'queue_full' }, value: 1 },
    ]);
    expect(series(all, 'kreconciler_dequeue')).toEqual([{ attributes: LANE, value: 1 }]);
  });

  it('should name the controller and the lanes', async () => {
    const { events, pass, collect } = measured(
      () => undefined,
      { workerCount: 2, workerHasher: (id) => Number(id) },
      { name: 'zones', workerName: (worker) => `lane ${worker}` },
    );
    events.next('0');
    events.next('1');
    pass(0);
    const all = await collect();
    for (const name of all.keys())
      for (const { attributes } of series(all, name)) expect(attributes).toMatchObject({ controller: 'zones' });
    expect(series(all, 'kreconciler_dequeue').map(({ attributes }) => attributes['workerName'])).toEqual(['lane 0', 'lane 1']);
  });

  it('should measure the queue and the handling once for each run, in the time of the loop', async () => {
    const { events, pass, collect, takes } = measured(() => takes(30));
    events.next('a');
    events.next('b');
    pass(1000);
    const all = await collect();
    expect(all.get('kreconciler_queue_millis')).toMatchObject({
      descriptor: { unit: 'ms' },
      dataPoints: [{ value: { count: 2, sum: 30 } }],
    });
    expect(all.get('kreconciler_handle_millis')).toMatchObject({
      descriptor: { unit: 'ms' },
      dataPoints: [{ value: { count: 2, sum: 60 } }],
    });
  });

  it('should measure what a requeue has to wait, failed or not', async () => {
    const { events, pass, collect } = measured((id, { attempt, reason }) =>
      id === 'fail' ? (attempt === 1 ? { error: BOOM } : {}) : reason === 'event' ? { requeueDelay: 700 } : {},
    );
    events.next('fail');
    events.next('poll');
    pass(1000);
    expect((await collect()).get('kreconciler_requeue_delay_millis')?.dataPoints).toMatchObject([
      { attributes: { error: true }, value: { count: 1, sum: 100 } },
      { attributes: { error: false }, value: { count: 1, sum: 700 } },
    ]);
  });

  it('should measure a run that is cut off by unsubscribing as well', async () => {
    const { events, pass, collect, subscription } = measured(() => NEVER);
    events.next('x');
    pass(40);
    subscription.unsubscribe();
    expect((await collect()).get('kreconciler_handle_millis')?.dataPoints).toMatchObject([
      { attributes: { error: false }, value: { count: 1, sum: 40 } },
    ]);
  });
});

describe('the gauges of recordMetrics', () => {
  const read = async ({ collect }: ReturnType<typeof measured>) => {
    const all = await collect();
    return GAUGES.map((name) => total(all, name));
  };

  it('should show how many ids are ready, waiting, running and abandoned, and return to zero', async () => {
    const loop = measured((id, { attempt }) => (id === 'fail' && attempt === 1 ? { error: 1 } : loop.takes(50)));
    expect(await read(loop)).toEqual([0, 0, 0, 0, 0]);
    for (const id of ['fail', 'a', 'b']) loop.events.next(id);
    loop.pass(10);
    expect(await read(loop)).toEqual([1, 1, 1, 0, 10]);
    loop.pass(1000);
    expect(await read(loop)).toEqual([0, 0, 0, 0, 0]);
    loop.events.next('a');
    expect((await read(loop)).slice(0, 4)).toEqual([0, 0, 1, 0]);
    loop.subscription.unsubscribe();
    expect(await read(loop)).toEqual([0, 0, 0, 0, 0]);
  });

  describe('with promises', () => {
    beforeEach(() => void vi.useFakeTimers());
    afterEach(() => void vi.useRealTimers());

    it('should show a promise that outlives its run, until it settles', async () => {
      const { meter, collect } = meteredSdk();
      const hung = deferred();
      of('x')
        .pipe(
          reconcile(() => hung.promise, { maxReconcileTime: 100, maxItemRetries: 0 }),
          recordMetrics({ meter }),
        )
        .subscribe();
      await vi.advanceTimersByTimeAsync(100);
      expect(total(await collect(), 'kreconciler_abandoned')).toBe(1);
      expect(total(await collect(), 'kreconciler_running')).toBe(0);
      hung.resolve();
      await vi.advanceTimersByTimeAsync(0);
      expect(total(await collect(), 'kreconciler_abandoned')).toBe(0);
    });
  });

  it('should never be negative, also if the steps are seen from the middle on', async () => {
    const { meter, collect } = meteredSdk();
    const base = { id: 'x', worker: 0, at: 0 };
    const steps: Step[] = [
      { ...base, kind: 'released' },
      { ...base, kind: 'succeeded', attempt: 1, took: 1 },
      { ...base, id: 'y', kind: 'dropped', attempt: 1, reason: 'stopped' },
      { ...base, id: 'z', kind: 'requeued', attempt: 1, took: 1, delay: 5 },
    ];
    const source = new Subject<Step>();
    source.pipe(recordMetrics({ meter })).subscribe();
    for (const step of steps) {
      source.next(step);
      for (const name of GAUGES) for (const { value } of series(await collect(), name)) expect(value).toBeGreaterThanOrEqual(0);
    }
  });

  it('should show whether it leads, from the first subscription on', async () => {
    const { meter, collect } = meteredSdk();
    const leads = new Subject<boolean>();
    const subscription = NEVER.pipe(recordMetrics({ meter, leading: leads, name: 'a' })).subscribe();
    const leader = async () => series(await collect(), 'kreconciler_leader');
    expect(await leader()).toEqual([{ attributes: { controller: 'a' }, value: 0 }]);
    leads.next(true);
    expect(await leader()).toEqual([{ attributes: { controller: 'a' }, value: 1 }]);
    subscription.unsubscribe();
    expect(leads.observed).toBe(false);
    expect(await leader()).toEqual([{ attributes: { controller: 'a' }, value: 0 }]);
  });

  it('should hear of the lead from an Observable of another copy of rxjs, wherever that keeps its Observable side', async () => {
    // Without the symbol that our copy looks for.
    const foreign: unknown = { subscribe: (observer: Observer<boolean>) => of(true).subscribe(observer), pipe: () => foreign };
    const leading = foreign as ObservableInput<boolean>;
    const { events, collect } = measured(() => undefined, {}, { leading });
    events.next('a');
    expect(total(await collect(), 'kreconciler_leader')).toBe(1);
  });

  it.each(['leading', 'streams', 'shards'] as const)(
    'should close an iterator of `%s` that has not ended when the loop has',
    async (field) => {
      const closed = vi.fn(() => Promise.resolve({ done: true as const, value: undefined }));
      const iterator = { next: () => new Promise<IteratorResult<never>>(() => undefined), return: closed };
      const { subscription } = measured(() => undefined, {}, { [field]: { [Symbol.asyncIterator]: () => iterator } });
      expect(closed).not.toHaveBeenCalled();
      subscription.unsubscribe();
      expect(closed).toHaveBeenCalledTimes(1);
    },
  );

  it('should show no lead when the leader source has failed', async () => {
    const { meter, collect } = meteredSdk();
    const leads = new Subject<boolean>();
    NEVER.pipe(recordMetrics({ meter, leading: leads })).subscribe();
    leads.next(true);
    leads.error(new Error('lost'));
    expect(total(await collect(), 'kreconciler_leader')).toBe(0);
  });

  it('should show two named loops on one meter side by side', async () => {
    const { meter, collect } = meteredSdk();
    for (const name of ['a', 'b'])
      of('x')
        .pipe(
          reconcile(() => NEVER, { maxReconcileTime: 0 }),
          recordMetrics({ meter, name }),
        )
        .subscribe();
    expect(series(await collect(), 'kreconciler_running').map(({ attributes, value }) => [attributes['controller'], value])).toEqual([
      ['a', 1],
      ['b', 1],
    ]);
  });

  it('should be zero once for a loop that has ended, and not silence another by that', async () => {
    const { meter, collect } = meteredSdk();
    const start = (name: string) =>
      of('x')
        .pipe(
          reconcile(() => NEVER, { maxReconcileTime: 0 }),
          recordMetrics({ meter, name }),
        )
        .subscribe();
    const a = start('a');
    start('b');
    await collect();
    a.unsubscribe();
    const running = async () => series(await collect(), 'kreconciler_running').map(({ value }) => value);
    expect(await running()).toEqual([0, 1]);
    expect(await running()).toEqual([0, 1]);
    start('a');
    expect(await running()).toEqual([1, 1]);
  });
});

describe('convergence', () => {
  const took = async ({ collect }: ReturnType<typeof measured>) => {
    const points = (await collect()).get('kreconciler_convergence_millis')?.dataPoints ?? [];
    return points.map(({ value }) => [(value as { count: number }).count, (value as { sum: number }).sum])[0];
  };
  const age = async ({ collect }: ReturnType<typeof measured>) => total(await collect(), 'kreconciler_oldest_unconverged_millis');

  it('should last from the first event to the success, retries included', async () => {
    const loop = measured((_, { attempt }) => (attempt < 3 ? { error: 1 } : undefined));
    loop.events.next('x');
    loop.pass(50);
    loop.events.next('x');
    loop.pass(49);
    expect(await age(loop)).toBe(99);
    loop.pass(1000);
    expect(await took(loop)).toEqual([1, 200]);
    expect(await age(loop)).toBe(0);
  });

  it('should count an event during a run from when it came, for that run cannot have served it', async () => {
    const loop = measured(() => loop.takes(100));
    loop.events.next('x');
    loop.pass(30);
    loop.events.next('x');
    loop.pass(80);
    expect(await took(loop)).toEqual([1, 100]);
    expect(await age(loop)).toBe(80);
    loop.pass(1000);
    expect(await took(loop)).toEqual([2, 100 + 170]);
  });

  it('should be reached by a run that asks for a poll, and the polls themselves have nothing to converge', async () => {
    const loop = measured(() => ({ requeueDelay: 100 }));
    loop.events.next('x');
    loop.pass(1000);
    expect(await took(loop)).toEqual([1, 0]);
    expect(await age(loop)).toBe(0);
  });

  it('should last, for an event during a poll that fails, from the event to the success of the retry', async () => {
    const loop = measured((_, { reason }) =>
      reason === 'requeue'
        ? concat(
            loop.takes(50),
            throwError(() => BOOM),
          )
        : reason === 'event'
          ? { requeueDelay: 100 }
          : undefined,
    );
    loop.events.next('x');
    loop.pass(120);
    loop.events.next('x');
    loop.pass(29);
    expect(await age(loop)).toBe(29);
    loop.pass(20);
    expect(await age(loop)).toBe(49);
    loop.pass(1000);
    const succeeded = loop.steps.find(({ kind }) => kind === 'succeeded');
    expect(await took(loop)).toEqual([2, succeeded!.at - 120]);
  });

  it('should be given up when the id is dropped, and start afresh with its next event', async () => {
    let well = false;
    const loop = measured(() => (well ? undefined : { error: 1 }), { maxItemRetries: 1 });
    loop.events.next('x');
    loop.pass(1000);
    expect(await age(loop)).toBe(0);
    well = true;
    loop.events.next('x');
    expect(await took(loop)).toEqual([1, 0]);
  });

  it('should last, for an id that is dropped while dirty, from the event that made it so', async () => {
    const loop = measured(() => (loop.scheduler.frame === 0 ? failing(loop.takes(50)) : loop.takes(50)), { maxItemRetries: 0 });
    loop.events.next('x');
    loop.pass(20);
    loop.events.next('x');
    loop.pass(1000);
    expect(await took(loop)).toEqual([1, loop.steps.at(-1)!.at - 20]);
  });

  function failing(run: Observable<unknown>): Observable<never> {
    return new Observable((subscriber) =>
      run.subscribe({
        complete: () => {
          subscriber.error(new Error('boom'));
        },
      }),
    );
  }
});

describe('recordMetrics as an operator', () => {
  // prettier-ignore -- aligned
  it.each<[string, unknown, RegExp]>([
    ['meter', 'x', /`meter` to be a Meter/],
    ['name', 5, /`name` to be a string/],
    ['workerName', 'x', /`workerName` to be a function/],
    ['leading', 5, /`leading` to be an Observable/],
    ['scheduler', {}, /`scheduler` to be a scheduler/],
  ])('should throw at the call if %s is %o', (field, value, message) => {
    expect(() => recordMetrics({ [field]: value })).toThrow(message);
  });

  it('should take the global meter when it is subscribed to, so that it may be registered late', async () => {
    const { provider, collect } = meteredSdk();
    const operator = recordMetrics();
    const source = new Subject<Step>();
    source.pipe(operator).subscribe();
    metrics.setGlobalMeterProvider(provider);
    try {
      source.pipe(operator).subscribe();
      source.next({ kind: 'enqueued', id: 'x', worker: 0, at: 0, reason: 'event', trigger: { id: 'x' } });
      expect(total(await collect(), 'kreconciler_enqueue')).toBe(1);
    } finally {
      metrics.disable();
    }
  });

  it('should put nothing between where there is no SDK', () => {
    const steps = new Subject<Step>();
    const subscribed = vi.spyOn(steps, 'subscribe');
    steps.pipe(recordMetrics()).subscribe();
    steps.pipe(recordMetrics({ meter: meteredSdk().meter })).subscribe();
    const [without, within] = subscribed.mock.calls.map(([subscriber]) => (subscriber as object).constructor.name);
    expect([without, within]).toEqual(['SafeSubscriber', 'OperatorSubscriber']);
  });

  it('should leave nothing behind after 100 starts and stops, whether or not it is read in between', async () => {
    const { meter, collect } = meteredSdk();
    const added = vi.spyOn(meter, 'addBatchObservableCallback');
    const removed = vi.spyOn(meter, 'removeBatchObservableCallback');
    for (let i = 0; i < 100; i++) {
      const subscription = of('x')
        .pipe(
          reconcile(() => NEVER, { maxReconcileTime: 0 }),
          recordMetrics({ meter, name: 'a' }),
        )
        .subscribe();
      if (i % 2 === 1) expect(total(await collect(), 'kreconciler_running')).toBe(1);
      subscription.unsubscribe();
    }
    const all = await collect();
    await Promise.resolve();
    // A callback a start, and one more after each stop that was read from.
    expect(added).toHaveBeenCalledTimes(150);
    expect(new Set(removed.mock.calls.map(([callback]) => callback))).toEqual(new Set(added.mock.calls.map(([callback]) => callback)));
    for (const name of all.keys()) expect(series(all, name).length).toBe(1);
    expect(total(all, 'kreconciler_dequeue')).toBe(100);
    for (const name of GAUGES) expect(total(all, name)).toBe(0);
  });

  it('should not let a meter that throws end the loop', () => {
    const { meter } = meteredSdk();
    vi.spyOn(meter, 'createHistogram').mockReturnValue({
      record: () => {
        throw new Error('broken');
      },
    });
    const steps: Step[] = [];
    of('x')
      .pipe(
        reconcile(() => undefined),
        recordMetrics({ meter }),
      )
      .subscribe((step) => steps.push(step));
    expect(steps.map(({ kind }) => kind)).toEqual(['enqueued', 'started', 'succeeded']);
  });
});
