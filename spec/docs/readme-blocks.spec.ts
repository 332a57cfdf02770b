import { spawn } from 'node:child_process';
import { EventEmitter } from 'node:events';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import pino from 'pino';
import { concat, lastValueFrom, map, NEVER, type Observable, of, Subject, throwError, toArray } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import winston from 'winston';
import {
  constant,
  type Command,
  type Config,
  Controller,
  type ControllerContext,
  type EventStream,
  type Logger,
  noopLogger,
  ofKind,
  reconcile,
  type Reconciler,
  reconcileSettings,
  type Step,
  TerminalError,
  type Trigger,
} from 'kreconciler';
import { SimulationError } from 'kreconciler/testing';
import { logged } from '../support/logged.js';
import { blockOf, outputOf, ran, root } from '../support/readmes.js';

const HOUR = 3_600_000;
const QUIET = { leaderElectionEnabled: false, observability: { logger: noopLogger } };

/** A Controller that logs nothing, with `config` above what the block gives it. */
function quiet(config: Partial<Config> = {}): typeof Controller {
  return class extends Controller {
    constructor(given: Partial<Config>, reconciler: Reconciler<ControllerContext>, streams: Record<string, EventStream>) {
      super({ ...QUIET, ...given, ...config }, reconciler, streams);
    }
  };
}

/** What an endpoint is that answers after an hour. */
function downForAnHour(): (id: string) => Promise<void> {
  const until = Date.now() + HOUR;
  return (id) => (Date.now() < until ? Promise.reject(new Error(`${id} does not answer`)) : Promise.resolve());
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe('README.md', () => {
  it('should show a loop that can be pasted and run, and what it prints', async () => {
    vi.useRealTimers();
    const folder = join(root, '.reports');
    const file = join(folder, `loop-${process.pid}.ts`);
    mkdirSync(folder, { recursive: true });
    writeFileSync(file, blockOf('loop'));
    try {
      const child = spawn(process.execPath, ['--import', 'tsx', file], { cwd: root });
      child.stdout.on('data', (chunk: Buffer) => {
        if (String(chunk).includes('succeeded db')) child.stdin.end('web\n');
      });
      const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
      const typed = 'enqueued web\nstarted web\nsucceeded web\n';
      expect(stdout).toBe(outputOf('README.md', 'enqueued web').replace(/^Map/m, `${typed}Map`));
      expect(stderr).toMatch(/no connection/);
    } finally {
      rmSync(file);
    }
  });

  it('should show the loop as an operator', async () => {
    const alert = vi.fn();
    const reconciler = (): never => {
      throw new TerminalError('no');
    };
    await ran('operator', { changes$: of('web', 'db'), reconciler, alert });
    expect(alert.mock.calls).toEqual([
      ['web', 'terminal'],
      ['db', 'terminal'],
    ]);
  });

  it('should show a poll that outlives its endpoint', async () => {
    const given = { Controller: quiet(), check: downForAnHour(), allServices: ['web', 'db'] };
    const { polling } = (await ran('poll', given, ['polling'])) as { polling: Controller };
    const steps: Step[] = [];
    polling.steps.subscribe((step) => steps.push(step));
    const stop = new AbortController();
    const running = polling.run(stop.signal);
    await vi.advanceTimersByTimeAsync(2 * HOUR);
    stop.abort();
    await running;
    const polls = steps.filter((step) => step.kind === 'requeued' && step.failure === undefined);
    expect(polls.length).toBeGreaterThanOrEqual(2 * 58);
    expect(steps.filter((step) => step.kind === 'dropped' && step.reason !== 'stopped')).toEqual([]);
  });

  it('should say what a poll without that does: dropped after some three minutes, and `run` resolves', async () => {
    const given = { Controller: quiet({ maxItemRetries: undefined }), check: downForAnHour(), allServices: ['web', 'db'] };
    const { polling } = (await ran('poll', given, ['polling'])) as { polling: Controller };
    const dropped: Step[] = [];
    polling.steps.subscribe((step) => step.kind === 'dropped' && dropped.push(step));
    const began = Date.now();
    const running = polling.run().then(() => (Date.now() - began) / 60_000);
    await vi.advanceTimersByTimeAsync(HOUR / 2);
    expect(await running).toBeGreaterThan(2);
    expect(await running).toBeLessThan(4.5);
    expect(dropped).toMatchObject([{ reason: 'retries' }, { reason: 'retries' }]);
  });
});

describe('lib/README.md', () => {
  it('should show streams of many kinds', async () => {
    const emitter = new EventEmitter();
    const subscribe = async function* () {
      yield { id: 'cache' };
    };
    const given = { emitter, subscribe, fetchAllIds: async () => ['mail', 'dns'] };
    const { streams } = (await ran('streams', given, ['streams'])) as { streams: Record<string, EventStream> };
    const heard: string[] = [];
    const stop = new AbortController();
    const running = new Controller(QUIET, (id, context) => void heard.push(`${id} by ${context.streams.join()}`), streams).run(stop.signal);
    emitter.emit('change', { id: 'queue' });
    await vi.advanceTimersByTimeAsync(1000);
    stop.abort();
    await running;
    expect(heard.sort()).toEqual(['cache by feed', 'db by fixed', 'dns by boot', 'mail by boot', 'queue by changes', 'web by fixed']);
  });

  it('should show a debounce that loses no id', async () => {
    const nodeChanges$ = new Subject<{ serviceIds: string[] }>();
    const given = { nodeChanges$, isReady: ({ serviceIds }: { serviceIds: string[] }) => !serviceIds.includes('broken') };
    const { ids$ } = (await ran('debounce', given, ['ids$'])) as { ids$: Observable<string | Trigger> };
    const passed: string[] = [];
    ids$.subscribe((event) => passed.push(typeof event === 'string' ? event : event.id));
    nodeChanges$.next({ serviceIds: ['web', 'db', 'cache'] });
    nodeChanges$.next({ serviceIds: ['web', 'broken'] });
    await vi.advanceTimersByTimeAsync(49);
    nodeChanges$.next({ serviceIds: ['db'] });
    await vi.advanceTimersByTimeAsync(2);
    expect(passed.sort()).toEqual(['cache', 'web']);
    await vi.advanceTimersByTimeAsync(50);
    expect(passed).toEqual(['cache', 'web', 'db']);
  });
  it('should show a feed that comes back, after pauses that grow to half a minute', async () => {
    const tries: number[] = [];
    const connect = (): Observable<string> => {
      tries.push(Date.now());
      return tries.length < 8 ? throwError(() => new Error('refused')) : concat(of('web'), NEVER);
    };
    const { feed$ } = (await ran('feed', { connect }, ['feed$'])) as { feed$: Observable<string> };
    const heard: string[] = [];
    feed$.subscribe((id) => heard.push(id));
    await vi.advanceTimersByTimeAsync(HOUR);
    expect(heard).toEqual(['web']);
    expect(tries.slice(1).map((at, i) => at - tries[i]!)).toEqual([2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]);
  });

  it('should show a retry that waits as long as the server says, and by backoff if it does not say', async () => {
    const limits = ['30', undefined, 'Wed, 21 Oct 2026 07:28:00 GMT', undefined].map((after) => ({
      status: 429,
      ...(after !== undefined && { headers: { 'retry-after': after } }),
    }));
    const answers = [...limits.map((limit) => new Response(null, limit)), new Response()];
    const { limited } = (await ran('rate-limit', { fetch: async () => answers.shift() }, ['limited'])) as { limited: Reconciler };
    const steps = lastValueFrom(
      of('web').pipe(reconcile(limited, { backoff: (failures) => failures * 1_000 }), ofKind('requeued', 'succeeded'), toArray()),
    );
    await vi.advanceTimersByTimeAsync(41_000);
    expect(await steps).toMatchObject([
      { kind: 'requeued', delay: 30_000 },
      { kind: 'requeued', delay: 2_000 },
      { kind: 'requeued', delay: 3_000 },
      { kind: 'requeued', delay: 4_000 },
      { kind: 'succeeded', attempt: 5 },
    ]);
  });

  it('should show a resync that brings back what was dropped', async () => {
    const given = { Controller: quiet(), check: downForAnHour(), fetchAllIds: async () => ['web', 'db'] };
    const { resynced } = (await ran('poll-or-resync', given, ['resynced'])) as { resynced: Controller };
    const succeeded = new Set<string>();
    resynced.steps.subscribe(({ kind, id }) => kind === 'succeeded' && succeeded.add(id));
    const stop = new AbortController();
    const running = resynced.run(stop.signal);
    await vi.advanceTimersByTimeAsync(HOUR - 1);
    expect([...succeeded]).toEqual([]);
    await vi.advanceTimersByTimeAsync(2 * 60_000);
    expect([...succeeded].sort()).toEqual(['db', 'web']);
    stop.abort();
    await running;
  });

  it('should show a handler that creates something, and answers when it is there', async () => {
    const store = new Map<string, unknown>();
    const made: string[] = [];
    const controller = new Controller(
      { ...QUIET, maxItemRetries: 0, maxReconcileTime: 0, shutdownGrace: 0 },
      (id) => {
        if (id === 'slow') return NEVER;
        if (!store.has(id) || id === 'bad') throw new Error('it does not work');
        made.push(id);
        return undefined;
      },
      { never: NEVER },
    );
    const stop = new AbortController();
    const running = controller.run(stop.signal);
    const save = (id: string, wanted: unknown) => Promise.resolve(void store.set(id, wanted));
    const { put } = (await ran('rest', { controller, save }, ['put'])) as { put: (id: string, request: Request) => Promise<Response> };
    const request = () => new Request('http://localhost/', { method: 'PUT', body: '{"size":3}' });
    const answered = async (response: Response): Promise<unknown> => [response.status, await response.json()];
    expect(await answered(await put('web', request()))).toEqual([201, { id: 'web' }]);
    expect([made, store.get('web')]).toEqual([['web'], { size: 3 }]);
    expect(await answered(await put('bad', request()))).toEqual([502, { error: 'it does not work' }]);
    vi.spyOn(AbortSignal, 'timeout').mockImplementation(() => AbortSignal.abort(new DOMException('late', 'TimeoutError')));
    expect(await answered(await put('slow', request()))).toEqual([202, { error: 'late' }]);
    stop.abort();
    await running;
  });

  it('should show a maintenance window and a circuit breaker that do not resume each other', async () => {
    vi.setSystemTime(new Date(2026, 0, 1, 1, 58));
    const changes = new Subject<string>();
    let isBroken = true;
    const controller = new Controller(
      { ...QUIET, backoff: constant(1_000), delayResolution: 1_000 },
      () => {
        if (isBroken) throw new Error('no connection');
      },
      { changes },
    );
    const told: string[] = [];
    controller.steps.subscribe((step) => {
      if (step.id === '') told.push(`${new Date(step.at).toTimeString().slice(0, 8)} ${step.kind}${'why' in step ? `: ${step.why}` : ''}`);
    });
    const stop = new AbortController();
    const running = ran('reasons', { controller, signal: stop.signal });
    await vi.advanceTimersByTimeAsync(500);
    for (const id of ['a', 'b', 'c', 'd', 'e']) changes.next(id);
    await vi.advanceTimersByTimeAsync(90_000);
    isBroken = false;
    await vi.advanceTimersByTimeAsync(2 * 3_600_000);
    expect(told).toEqual([
      '01:58:00 paused: too many failures',
      '01:58:30 resumed',
      '01:58:30 paused: too many failures',
      '01:59:00 resumed',
      '01:59:00 paused: too many failures',
      '01:59:30 resumed',
      '01:59:30 paused: too many failures',
      '03:00:00 resumed',
    ]);
    expect(controller.inspect().ids).toEqual([]);
    stop.abort();
    await running;
    expect(vi.getTimerCount()).toBe(0);
  });

  it('should show what it is doing right now', async () => {
    const controller = new Controller(QUIET, () => NEVER, { boot: ['web', 'db'] });
    const stop = new AbortController();
    const running = controller.run(stop.signal);
    const log = vi.fn();
    const { leading, running: count } = await ran('inspect', { controller, console: { log } }, ['leading', 'running']);
    expect([leading, count]).toEqual([true, 1]);
    expect(log.mock.calls).toEqual([
      ['web', 'running', undefined],
      ['db', 'ready', undefined],
    ]);
    await ran('history', { controller, console: { log } });
    expect(log.mock.calls.slice(2)).toEqual([
      [expect.any(Number), 'enqueued', 'boot'],
      [expect.any(Number), 'started', undefined],
      [0, [], 0, undefined],
    ]);
    stop.abort();
    await vi.advanceTimersByTimeAsync(30_000);
    await running;
  });

  it('should show what people wait for going first', async () => {
    const begun: string[] = [];
    const given = {
      Controller: quiet(),
      requests$: of('click'),
      changes$: of('change'),
      allIds: async () => ['first', 'listed'],
      reconciler: async (id: string) => {
        begun.push(id);
        await new Promise((resolve) => setTimeout(resolve, 100));
      },
    };
    const { urgent } = (await ran('priority', given, ['urgent'])) as { urgent: Controller };
    const stop = new AbortController();
    const running = urgent.run(stop.signal);
    await vi.advanceTimersByTimeAsync(1000);
    stop.abort();
    await running;
    expect(begun).toEqual(['click', 'change', 'first', 'listed']);
  });

  it('should show tenants that take turns', async () => {
    const given = { ids$: of('acme/1', 'acme/2', 'acme/3', 'globex/1'), reconciler: async () => {} };
    const { fairly } = (await ran('fair', given, ['fairly'])) as { fairly: Observable<Step> };
    const started = lastValueFrom(
      fairly.pipe(
        ofKind('started'),
        map(({ id }) => id),
        toArray(),
      ),
    );
    expect(await started).toEqual(['acme/1', 'acme/2', 'globex/1', 'acme/3']);
  });

  it('should show a run that ends when it is out of date, and runs again', async () => {
    const rendered: string[] = [];
    const render = (id: string, signal: AbortSignal): Promise<void> =>
      new Promise((resolve, reject) => {
        const done = setTimeout(() => {
          rendered.push(id);
          resolve();
        }, 1000);
        signal.addEventListener('abort', () => {
          clearTimeout(done);
          reject(signal.reason as Error);
        });
      });
    const { rendering } = (await ran('superseded', { render }, ['rendering'])) as { rendering: Reconciler };
    const events$ = new Subject<string>();
    const steps: Step[] = [];
    events$.pipe(reconcile(rendering), ofKind('requeued', 'succeeded')).subscribe((step) => steps.push(step));
    events$.next('page');
    await vi.advanceTimersByTimeAsync(500);
    events$.next('page');
    await vi.advanceTimersByTimeAsync(2000);
    expect(steps).toMatchObject([
      { kind: 'requeued', failure: 'superseded' },
      { kind: 'succeeded', attempt: 1 },
    ]);
    expect(rendered).toEqual(['page']);
    events$.complete();
  });

  it('should show how to ask for an id, and to hear when it is right', async () => {
    const begun: string[] = [];
    const reconciler: Reconciler = async (id, { attempt }) => {
      begun.push(`${id} ${attempt}`);
      if (attempt === 1) throw new Error('not yet');
    };
    const controller = new Controller(QUIET, reconciler, { none: NEVER });
    const stop = new AbortController();
    const running = controller.run(stop.signal);
    const asked = ran('ask', { controller });
    await vi.advanceTimersByTimeAsync(1000);
    await asked;
    expect(begun).toEqual(['web 1', 'web 2']);
    stop.abort();
    await running;
  });

  it('should show commands, and what they make of ids', async () => {
    const printed: string[] = [];
    const reconciler: Reconciler = async (id) => {
      if (id === 'db') throw new Error('down');
    };
    const ids$ = new Subject<string>();
    const log = (kind: string, id: string): void => {
      printed.push(`${kind} ${id}`);
      if (kind === 'paused') ids$.next('web');
    };
    const given = { reconciler, ids$: concat(of('db'), ids$), console: { log } };
    const { commands$ } = (await ran('commands', given, ['commands$'])) as { commands$: Subject<Command> };
    await vi.advanceTimersByTimeAsync(0);
    expect(printed.filter((line) => line.endsWith('web'))).toEqual([
      'paused web',
      'merged web',
      'resumed web',
      'enqueued web',
      'started web',
      'succeeded web',
    ]);
    expect(printed.filter((line) => line.endsWith('db'))).toContain('dropped db');
    commands$.complete();
    ids$.complete();
  });

  it('should show messages of a broker that are acknowledged once their id is reconciled', async () => {
    const answers: string[] = [];
    const message = (subject: string): object => ({
      subject,
      ack: () => answers.push(`ack ${subject}`),
      nak: (delay: number) => answers.push(`nak ${subject} in ${delay}`),
    });
    const messages = async function* () {
      yield* [message('web'), message('db'), message('web')];
    };
    const reconciler: Reconciler = async (id) => {
      if (id === 'db') throw new TerminalError('no such database');
    };
    const done = ran('acknowledge', { consumer: { messages }, config: QUIET, reconciler, signal: new AbortController().signal });
    await vi.advanceTimersByTimeAsync(60_000);
    await done;
    expect(answers.sort()).toEqual(['ack web', 'ack web', 'nak db in 5000']);
  });
});

describe('lib/observability/README.md', () => {
  it('should show telemetry as operators', async () => {
    const { logger, lines } = logged();
    const reconciler: Reconciler = async () => {
      throw new TerminalError('no such zone');
    };
    await ran('telemetry', { ids$: of('eu'), reconciler, logger });
    await vi.advanceTimersByTimeAsync(1000);
    expect(lines.filter(([level]) => level === 'warn')).toMatchObject([['warn', 'dropped', { id: 'eu', reason: 'terminal' }]]);
  });

  it('should show events that bring the trace they come from', async () => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const given = {
      orders$: of({ id: 'order-1', headers: { traceparent } }),
      requests$: of('request-1'),
      context: { active: () => 'here' },
    };
    const { streams } = (await ran('carriers', given, ['streams'])) as { streams: Record<string, Observable<Trigger>> };
    expect(await lastValueFrom(streams['orders']!)).toEqual({ id: 'order-1', context: { traceparent } });
    expect(await lastValueFrom(streams['requests']!)).toEqual({ id: 'request-1', context: 'here' });
  });

  it.each(['pino', 'winston'])('should show a logger for %s', async (library) => {
    const lines: string[] = [];
    const stream = new Writable({
      write: (chunk: Buffer, _, done) => {
        lines.push(String(chunk));
        done();
      },
    });
    const { logger } =
      library === 'pino'
        ? await ran('pino', {}, ['logger'], {
            pino: { default: Object.assign((config: pino.LoggerOptions) => pino(config, stream), pino) },
          })
        : { logger: await winstonLogger(stream) };
    (logger as Logger).with({ id: 'web' }).warn('requeued', { error: new Error('refused'), attempt: 2 });
    await vi.waitFor(() => expect(lines).toHaveLength(1), { timeout: 30_000 });
    expect(JSON.parse(lines[0]!)).toMatchObject({ id: 'web', attempt: 2 });
    expect(lines[0]).toMatch(/requeued/);
    if (library === 'pino') expect(lines[0]).toMatch(/refused/);
  });

  async function winstonLogger(stream: Writable): Promise<unknown> {
    const { winstonLogger } = await ran('winston', {}, ['winstonLogger'], { winston: { default: winston } });
    return (winstonLogger as (logger: winston.Logger) => Logger)(
      // eslint-disable-next-line @typescript-eslint/no-unsafe-class-instance-assignment -- its types come from another package
      winston.createLogger({ transports: new winston.transports.Stream({ stream }) }),
    );
  }
});

describe('lib/testing/README.md', () => {
  /** The tests that the block `name` makes. */
  const testsOf: { name: string; test: () => unknown }[] = [];
  const given = { expect, it: (name: string, test: () => unknown) => testsOf.push({ name, test }) };

  beforeEach(() => {
    vi.useRealTimers();
    testsOf.length = 0;
  });

  it('should show marbles', async () => {
    await ran('marbles', given);
    await testsOf[0]!.test();
  });

  it('should show what marbles say where they fail', async () => {
    const without: typeof reconcile = (reconciler, config) => reconcile(reconciler, { ...config, maxItemRetries: 0 });
    await ran('marbles', { ...given, reconcile: without });
    expect(testsOf[0]!.test).toThrow(outputOf('lib/testing/README.md', 'Expected the steps').trimEnd());
  });

  it('should show virtual time', async () => {
    await ran('virtual-time', given);
    await testsOf[0]!.test();
  });

  it('should show a simulation, and what it reports', async () => {
    await ran('simulation', given);
    const error: unknown = await Promise.resolve(testsOf[0]!.test()).catch((error: unknown) => error);
    expect(error).toBeInstanceOf(SimulationError);
    expect((error as Error).message).toContain(outputOf('lib/testing/README.md', 'The invariant').trimEnd());
  });
});

describe('operators/README.md', () => {
  it('should show what `reconcile` is composed of', async () => {
    const reconciler: Reconciler = (id) => {
      if (id === 'db') throw new TerminalError('no');
    };
    const ids$ = of('web', 'db', '', 'web');
    const settings = reconcileSettings({ workerCount: 2 });
    const { steps$ } = (await ran('building-blocks', { ids$, settings, reconciler }, ['steps$'])) as { steps$: Observable<Step> };
    const [composed, stock] = await Promise.all(
      [steps$, ids$.pipe(reconcile(reconciler, settings))].map((steps) =>
        lastValueFrom(
          steps.pipe(
            map(({ kind, id }) => `${kind} ${id}`),
            toArray(),
          ),
        ),
      ),
    );
    expect(composed).toContain('rejected ');
    expect(composed).toEqual(stock);
  });
});
