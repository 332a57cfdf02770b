import { concat, EMPTY, finalize, from, map, merge, NEVER, of, share, Subject, take, throwError, timer } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  Controller,
  type ControllerContext,
  defaultConfig,
  type EventStream,
  type Logger,
  noopLogger,
  noopStream,
  ofKind,
  type Reconciler,
  snapshots,
  type Step,
} from 'kreconciler';
import { controlled } from '../support/controlled.js';
import { counted } from '../support/counted.js';
import { deferred } from '../support/deferred.js';
import { logged } from '../support/logged.js';

const nothing: Reconciler<ControllerContext> = () => undefined;

/** Throws whatever is done to it. */
function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe('Controller', () => {
  it('should run until all streams are complete and everything has settled', async () => {
    let failures = 1;
    const reconciler = (): void => {
      if (failures-- > 0) throw new Error('once');
    };
    const { controller, kinds } = controlled(reconciler, { a: of('x'), b: EMPTY }, { leaderElectionEnabled: false });
    let done = false;
    void controller.run().then(() => (done = true));
    await vi.advanceTimersByTimeAsync(100);
    expect(done).toBe(false);
    await vi.advanceTimersByTimeAsync(1000);
    expect(done).toBe(true);
    expect(kinds()).toEqual(['enqueued', 'started', 'requeued', 'enqueued', 'started', 'succeeded']);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('should take observables, promises, async iterables, arrays, and functions of a signal that return one of these', async () => {
    const streams: Record<string, EventStream> = {
      observable: of('observable'),
      promise: Promise.resolve('promise'),
      generator: (async function* () {
        yield 'generator';
      })(),
      array: ['array', { id: 'trigger', message: 7 }],
      function: () => of('function'),
      generatorFunction: async function* () {
        yield 'generatorFunction';
      },
      asyncFunction: () => Promise.resolve('asyncFunction'),
    };
    const { controller, steps } = controlled(nothing, streams, { leaderElectionEnabled: false });
    await controller.run();
    const triggers = steps.flatMap(({ trigger }) => trigger ?? []);
    expect(triggers).toHaveLength(8);
    expect(triggers).toContainEqual({ id: 'trigger', message: 7, stream: 'array' });
    for (const { id, stream } of triggers) if (id !== 'trigger') expect(stream).toBe(id);
  });

  it('should let the reconciler know which streams asked', async () => {
    const a = new Subject<string>();
    const b = new Subject<string>();
    const first = deferred();
    const asked: (readonly string[])[] = [];
    const reconciler = (_: string, { streams }: ControllerContext): Promise<void> | undefined => {
      asked.push(streams);
      return asked.length === 1 ? first.promise : undefined;
    };
    const { controller } = controlled(reconciler, { a, b }, { leaderElectionEnabled: false });
    const run = controller.run();
    a.next('x');
    b.next('x');
    a.next('x');
    first.resolve();
    a.complete();
    b.complete();
    await run;
    expect(asked).toEqual([['a'], ['b', 'a']]);
  });

  it('should take arrays of events as values, so that a promise of all ids is a stream', async () => {
    const streams: Record<string, EventStream> = {
      boot: Promise.resolve(['apple', 'pear']),
      pages: () => of('plum', ['quince', { id: 'cherry', message: 7 }], []),
    };
    const { controller, steps } = controlled(nothing, streams, { leaderElectionEnabled: false });
    await controller.run();
    const triggers = steps.flatMap(({ trigger }) => trigger ?? []);
    expect(triggers).toEqual([
      { id: 'plum', stream: 'pages' },
      { id: 'quince', stream: 'pages' },
      { id: 'cherry', message: 7, stream: 'pages' },
      { id: 'apple', stream: 'boot' },
      { id: 'pear', stream: 'boot' },
    ]);
  });

  it('should take what an event carries also from getters of its class', async () => {
    class Change {
      readonly id = 'apple';
      get message(): string {
        return 'from the broker';
      }
      get context(): string {
        return 'of the trace';
      }
      get priority(): number {
        return 2;
      }
      get parts(): number {
        return 3;
      }
    }
    const { controller, steps } = controlled(nothing, { changes: of(new Change()) }, { leaderElectionEnabled: false });
    await controller.run();
    const carried = { message: 'from the broker', context: 'of the trace', priority: 2, parts: 3 };
    expect(steps[0]?.trigger).toEqual({ id: 'apple', stream: 'changes', ...carried });
  });

  it('should take any name for a stream, also one that a promise, a web stream or an Observable has', async () => {
    const names = ['then', 'getReader', '@@observable', '__proto__', 'constructor'];
    const streams = Object.fromEntries(names.map((name) => [name, () => of(`${name} id`)]));
    const { controller, steps } = controlled(nothing, streams, { leaderElectionEnabled: false });
    await controller.run();
    expect(steps.flatMap(({ trigger }) => trigger?.stream ?? []).sort()).toEqual([...names].sort());
  });

  it('should say once which stream has completed while others go on, and show it', async () => {
    const { logger, lines } = logged();
    const alive = new Subject<string>();
    const controller = new Controller({ leaderElectionEnabled: false, observability: { logger } }, nothing, { boot: of('apple'), alive });
    const run = controller.run();
    const told = lines.filter(([level]) => level === 'info');
    expect(told).toEqual([['info', 'An event stream has completed, others go on', { stream: 'boot', live: 1 }]]);
    expect(controller.inspect().completed).toEqual(['boot']);
    alive.complete();
    await run;
    expect(lines.filter(([level]) => level === 'info')).toEqual(told);
  });

  it('should end nothing when one stream completes', async () => {
    const alive = new Subject<string>();
    const { controller, kinds } = controlled(nothing, { done: EMPTY, alive }, { leaderElectionEnabled: false });
    const run = controller.run();
    alive.next('x');
    expect(kinds()).toEqual(['enqueued', 'started', 'succeeded']);
    alive.complete();
    await run;
  });

  it('should reject a second run, during and after the first', async () => {
    const { controller } = controlled(nothing, { noopStream });
    const stop = new AbortController();
    const run = controller.run(stop.signal);
    await expect(controller.run()).rejects.toThrow('This controller has been run already');
    stop.abort();
    await run;
    await expect(controller.run()).rejects.toThrow('This controller has been run already');
  });

  it('should reject an id that is none and live on', async () => {
    const bad = [
      null,
      undefined,
      5,
      '',
      {},
      { id: 7 },
      Object.defineProperty({}, 'id', {
        get: () => {
          throw new Error('no');
        },
      }),
    ];
    const { controller, steps } = controlled(nothing, { bad: [...bad, 'good'] as string[] }, { leaderElectionEnabled: false });
    await controller.run();
    expect(steps.map(({ kind }) => kind)).toEqual([...bad.map(() => 'rejected'), 'enqueued', 'started', 'succeeded']);
    expect(steps[0]).toMatchObject({ id: '', reason: 'invalid_id', worker: -1, trigger: { stream: 'bad' } });
    expect(steps[2]).toMatchObject({
      error: new TypeError('Expected an id to be a non-empty string, got `{"id":5,"stream":"bad"}` (object)'),
    });
  });

  describe('P2: when the signal aborts', () => {
    it('should let the streams go, let the running finish, drop the others, and then resolves', async () => {
      const { source, open } = counted(concat(of('a', 'b'), NEVER));
      const run = deferred();
      const { controller, kinds } = controlled(() => run.promise, { source });
      const stop = new AbortController();
      let resolved = false;
      void controller.run(stop.signal).then(() => (resolved = true));
      controller.becomeLeader();
      stop.abort();
      expect(open()).toBe(0);
      expect(kinds('b')).toEqual(['enqueued', 'dropped']);
      await vi.advanceTimersByTimeAsync(100);
      expect(resolved).toBe(false);
      run.resolve();
      await vi.advanceTimersByTimeAsync(0);
      expect(resolved).toBe(true);
      expect(kinds('a')).toEqual(['enqueued', 'started', 'succeeded']);
      expect(vi.getTimerCount()).toBe(0);
    });

    it('should let a stream that says all at once go in the midst of it', async () => {
      const stop = new AbortController();
      let said = 0;
      let isLetGo = false;
      function* ids(): Generator<string> {
        try {
          while (said < 1000) yield `x${++said}`;
        } finally {
          isLetGo = true;
        }
      }
      const { controller } = controlled(
        (id) => {
          if (id === 'x3') stop.abort();
        },
        { a: ids, b: NEVER },
        { leaderElectionEnabled: false },
      );
      await controller.run(stop.signal);
      expect(said).toBe(3);
      expect(isLetGo).toBe(true);
    });

    it('should give a hung run up after shutdownGrace, its signal aborted', async () => {
      let signal: AbortSignal | undefined;
      const reconciler = (_: string, context: ControllerContext): Promise<void> => {
        signal = context.signal;
        return new Promise(() => undefined);
      };
      const config = { shutdownGrace: 500, leaderElectionEnabled: false };
      const { controller, kinds } = controlled(reconciler, { source: concat(of('a'), NEVER) }, config);
      const stop = new AbortController();
      const run = controller.run(stop.signal);
      stop.abort();
      await vi.advanceTimersByTimeAsync(499);
      expect(signal?.aborted).toBe(false);
      await vi.advanceTimersByTimeAsync(1);
      expect(signal?.aborted).toBe(true);
      await run;
      expect(kinds()).toEqual(['enqueued', 'started', 'dropped']);
    });

    it('should never subscribe to anything if it had aborted before', async () => {
      const stream = counted(NEVER);
      const { controller } = controlled(nothing, { stream: stream.source }, { leaderElectionEnabled: false });
      await controller.run(AbortSignal.abort());
      expect(stream.subscribed()).toBe(0);
    });

    it('should leave no listener at the signal', async () => {
      const stop = new AbortController();
      const add = vi.spyOn(stop.signal, 'addEventListener');
      const remove = vi.spyOn(stop.signal, 'removeEventListener');
      await controlled(nothing, { a: of('x') }, { leaderElectionEnabled: false }).controller.run(stop.signal);
      expect(add).toHaveBeenCalled();
      expect(remove).toHaveBeenCalledTimes(add.mock.calls.length);
    });
  });

  describe('P4: a stream that fails', () => {
    const boom = new Error('boom');

    it.each<[string, EventStream]>([
      ['an Observable', throwError(() => boom)],
      ['a promise', () => Promise.reject(boom)],
      [
        'a function that throws',
        () => {
          throw boom;
        },
      ],
      [
        'a generator',
        async function* () {
          throw boom;
        },
      ],
    ])('should make run reject with an error that names it and has the cause: %s', async (_, bad) => {
      const { controller } = controlled(nothing, { good: NEVER, bad }, { leaderElectionEnabled: false });
      const error: unknown = await controller.run().catch((error: unknown) => error);
      expect(error).toMatchObject({ message: 'Event stream `bad` failed: boom', cause: boom });
    });

    it('should be reported only after everything was stopped cleanly, and complete the steps', async () => {
      const good = counted(concat(of('a', 'b'), NEVER));
      const bad = new Subject<never>();
      const run = deferred();
      const { controller, steps, kinds } = controlled(() => run.promise, { good: good.source, bad }, { leaderElectionEnabled: false });
      let completed = false;
      let rejected = false;
      controller.steps.subscribe({ complete: () => (completed = true) });
      void controller.run().catch(() => (rejected = true));
      bad.error(boom);
      expect(good.open()).toBe(0);
      expect(kinds('b')).toEqual(['enqueued', 'dropped']);
      await vi.advanceTimersByTimeAsync(10);
      expect(rejected).toBe(false);
      run.resolve();
      await vi.advanceTimersByTimeAsync(0);
      expect(rejected).toBe(true);
      expect(completed).toBe(true);
      expect(steps.at(-1)).toMatchObject({ id: 'a', kind: 'succeeded' });
    });

    it.each<[string, unknown, string]>([
      ['an object without a prototype', Object.create(null), '`{}` (object)'],
      ['a proxy that throws', revoked(), '`…` (object)'],
      ['undefined', undefined, 'undefined'],
      ['a symbol', Symbol('odd'), 'Symbol(odd)'],
    ])('F6 should name itself and its cause whatever it throws: %s', async (_, thrown, message) => {
      const { controller } = controlled(nothing, { bad: throwError(() => thrown) }, { leaderElectionEnabled: false });
      const error = await controller.run().catch((error: unknown) => error as Error);
      expect(error?.message).toBe(`Event stream \`bad\` failed: ${message}`);
      expect(error?.cause === thrown).toBe(true);
      const leader = controlled(nothing, { noopStream }, { leader: throwError(() => thrown) });
      await expect(leader.controller.run()).rejects.toThrow(`The leader source failed: ${message}`);
    });

    it('should be refused if it is a string, though that could be taken for a list of its letters', async () => {
      const { controller } = controlled(nothing, { files: (() => 'ticker') as unknown as EventStream }, { leaderElectionEnabled: false });
      await expect(controller.run()).rejects.toThrow(
        'Event stream `files` failed: Expected `streams.files` to be a function that returns an Observable, promise or iterable, got `ticker` (string)',
      );
    });

    it('should be refused with what it should have returned', async () => {
      const { controller } = controlled(nothing, { odd: (() => 5) as unknown as EventStream }, { leaderElectionEnabled: false });
      await expect(controller.run()).rejects.toThrow(
        'Event stream `odd` failed: Expected `streams.odd` to be a function that returns an Observable, promise or iterable, got `5` (number)',
      );
    });
  });

  describe('steps', () => {
    it('should be hot, and delivered in one order to all observers', async () => {
      const events = new Subject<string>();
      const { controller, kinds } = controlled(nothing, { events }, { leaderElectionEnabled: false });
      const early: string[] = [];
      const late: string[] = [];
      controller.steps.subscribe(({ kind, id }) => {
        early.push(`${kind} ${id}`);
        if (kind === 'enqueued' && id === 'a') events.next('b');
      });
      controller.steps.subscribe(({ kind, id }) => late.push(`${kind} ${id}`));
      const run = controller.run();
      events.next('a');
      events.complete();
      await run;
      expect(kinds('b')).toEqual(['enqueued', 'started', 'succeeded']);
      expect(early).toEqual(['enqueued a', 'enqueued b', 'started a', 'succeeded a', 'started b', 'succeeded b']);
      expect(late).toEqual(early);
    });

    it.each<[string, (controller: Controller) => void]>([
      [
        'itself',
        (controller) =>
          controller.steps.subscribe(() => {
            throw new Error('observer');
          }),
      ],
      [
        'piped',
        (controller) =>
          controller.steps.pipe(ofKind('started')).subscribe({
            next: () => {
              throw new Error('observer');
            },
          }),
      ],
      [
        'in an operator',
        (controller) =>
          controller.steps
            .pipe(
              map(() => {
                throw new Error('observer');
              }),
            )
            .subscribe(),
      ],
      // eslint-disable-next-line @typescript-eslint/no-misused-promises -- it is misused often enough
      ['in an async function', (controller) => controller.steps.subscribe(() => Promise.reject(new Error('observer')))],
      [
        'piped through an operator that is not of rxjs',
        (controller) =>
          controller.steps.pipe(snapshots()).subscribe(() => {
            throw new Error('observer');
          }),
      ],
      [
        'piped twice and shared',
        (controller) =>
          controller.steps
            .pipe(share())
            .pipe(snapshots())
            .subscribe(() => {
              throw new Error('observer');
            }),
      ],
      [
        'on completion',
        (controller) =>
          controller.steps.subscribe({
            complete: () => {
              throw new Error('observer');
            },
          }),
      ],
    ])('should log an observer that throws, and go on: %s', async (_, observe) => {
      const logged: unknown[] = [];
      const logger: Logger = { ...noopLogger, error: (message, fields) => logged.push([message, fields]) };
      const { controller, kinds } = controlled(nothing, { a: of('x') }, { leaderElectionEnabled: false, observability: { logger } });
      observe(controller);
      await controller.run();
      await vi.advanceTimersByTimeAsync(1000);
      expect(kinds()).toEqual(['enqueued', 'started', 'succeeded']);
      expect(logged[0]).toEqual(['An observer of the steps threw', { error: new Error('observer') }]);
    });

    it('should go on for the other observers when the teardown of one throws', async () => {
      const { logger, lines } = logged();
      const controller = new Controller({ leaderElectionEnabled: false, observability: { logger } }, nothing, { ids: of('apple') });
      const teardown = finalize<Step>(() => {
        throw new Error('teardown');
      });
      controller.steps.pipe(teardown).subscribe();
      controller.steps.pipe(teardown, take(1)).subscribe();
      const seen: string[] = [];
      controller.steps.subscribe({ next: ({ kind }) => seen.push(kind), complete: () => seen.push('complete') });
      await controller.run();
      await vi.advanceTimersByTimeAsync(1000);
      expect(seen).toEqual(['enqueued', 'started', 'succeeded', 'complete']);
      expect(lines.filter(([level]) => level === 'error')).toContainEqual([
        'error',
        'An observer of the steps threw',
        { error: expect.anything() as unknown },
      ]);
    });

    it('should go on when an observer throws, even if the logger throws as well', async () => {
      const logger: Logger = {
        ...noopLogger,
        error: () => {
          throw new Error('disk full');
        },
      };
      const { controller, kinds } = controlled(nothing, { a: of('x') }, { leaderElectionEnabled: false, observability: { logger } });
      controller.steps.subscribe(() => {
        throw new Error('observer');
      });
      await controller.run();
      await vi.advanceTimersByTimeAsync(1000);
      expect(kinds()).toEqual(['enqueued', 'started', 'succeeded']);
    });
  });

  describe('inspect', () => {
    it('should show what is running, ready and waiting, until when and which attempt, and whether it leads', async () => {
      const first = deferred();
      const reconciler = (id: string): Promise<void> | { requeueDelay: number } =>
        id === 'poll' ? { requeueDelay: 60_000 } : first.promise;
      const { controller } = controlled(reconciler, { a: concat(of('poll', 'x', 'y'), NEVER) }, { delayResolution: 1000 });
      vi.setSystemTime(10_500);
      const stop = new AbortController();
      const run = controller.run(stop.signal);
      expect(controller.inspect()).toEqual({ leading: false, ready: 0, running: 0, waiting: 0, abandoned: 0, workers: [], ids: [] });
      controller.becomeLeader();
      const counts = { ready: 1, running: 1, waiting: 1, abandoned: 0 };
      const fresh = { worker: 0, attempt: 1, failures: 0, reason: 'event', streams: ['a'] };
      expect(controller.inspect()).toEqual({
        leading: true,
        ...counts,
        workers: [{ worker: 0, ...counts }],
        ids: [
          { ...fresh, id: 'poll', state: 'waiting', reason: 'requeue', streams: [], until: 71_000, heldBy: 'requeue' },
          { ...fresh, id: 'x', state: 'running', since: 10_500 },
          { ...fresh, id: 'y', state: 'ready', since: 10_500, heldBy: 'queue' },
        ],
      });
      first.resolve();
      stop.abort();
      await run;
      expect(controller.inspect()).toMatchObject({ leading: false, ready: 0, running: 0, waiting: 0, ids: [] });
    });
  });

  describe('configuration', () => {
    it.each<[unknown, unknown, unknown, string]>([
      [{ workerCount: 0 }, nothing, {}, 'Expected `workerCount` to be an integer >= 1, got `0` (number)'],
      [{ name: 5 }, nothing, {}, 'Expected `name` to be a string, got `5` (number)'],
      [{ leaderElectionEnabled: 'no' }, nothing, {}, 'Expected `leaderElectionEnabled` to be a boolean, got `no` (string)'],
      [{ leader: true }, nothing, {}, 'Expected `leader` to be an Observable, promise or iterable, got `true` (boolean)'],
      [{ observability: {} }, nothing, {}, 'Expected `observability` to be an Observability with a logger, got `{}` (object)'],
      [
        { observability: { logger: {} } },
        nothing,
        {},
        'Expected `observability.logger` to be a Logger, which has a method `with`, as `consoleLogger()` has, got `{}` (object)',
      ],
      [null, nothing, {}, 'Expected `config` to be an object, got `null`'],
      [undefined, nothing, {}, 'Expected `config` to be an object, got `undefined`'],
      [{}, undefined, {}, 'Expected `reconciler` to be a function, got `undefined`'],
      [{}, nothing, undefined, 'Expected `streams` to be an object of event streams by name, got `undefined`'],
      [{}, nothing, [NEVER], 'Expected `streams` to be an object of event streams by name, got `[{}]` (object)'],
      [
        {},
        nothing,
        { a: 'abc' },
        'Expected `streams.a` to be an Observable, promise, iterable, or a function that returns one, got `abc` (string)',
      ],
    ])('should refuse %j at once: %#', (config, reconciler, streams, message) => {
      expect(() => new Controller(config as object, reconciler as Reconciler, streams as Record<string, EventStream>)).toThrow(
        new TypeError(message),
      );
    });

    it.each([null, 5, {}, new AbortController()])('should refuse %o as a signal, and run may be called again', async (signal) => {
      const { controller } = controlled(nothing, {}, { leaderElectionEnabled: false });
      await expect(controller.run(signal as never)).rejects.toThrow(/^Expected `signal` to be an AbortSignal, got /);
      await controller.run();
    });

    it('should take undefined for the default', () => {
      const config = Object.fromEntries(Object.keys(defaultConfig()).map((field) => [field, undefined]));
      expect(() => new Controller(config, nothing, {})).not.toThrow();
    });

    it('should have the defaults of the documentation', () => {
      expect(defaultConfig()).toMatchObject({
        maxItemRetries: 10,
        workerQueueSize: 2000,
        workerCount: 1,
        delayResolution: 250,
        delayQueueSize: 1000,
        maxReconcileTime: 10_000,
        shutdownGrace: 30_000,
        leaderElectionEnabled: true,
      });
    });
  });

  it('should complete at once when there is nothing to listen to', async () => {
    await controlled(nothing, {}, { leaderElectionEnabled: false }).controller.run();
  });

  it('should honour config.stop and config.reset as well', async () => {
    const stop = new Subject<void>();
    const reset = new Subject<void>();
    const { controller, kinds } = controlled(
      () => timer(1000).pipe(map(() => undefined)),
      { a: merge(of('x'), NEVER) },
      { stop, reset, leaderElectionEnabled: false },
    );
    const run = controller.run();
    reset.next();
    expect(kinds()).toEqual(['enqueued', 'started', 'dropped']);
    stop.next();
    await run;
  });

  it('should give the reconciler a logger bound to the id', async () => {
    const logged: unknown[] = [];
    const logger: Logger = { ...noopLogger, with: (fields) => ({ ...noopLogger, info: (message) => logged.push([message, fields]) }) };
    const reconciler = (_: string, context: ControllerContext): void => {
      context.logger.info('hello');
    };
    await controlled(reconciler, { a: from(['x']) }, { leaderElectionEnabled: false, observability: { logger } }).controller.run();
    expect(logged).toEqual([['hello', { id: 'x', worker: 0, attempt: 1 }]]);
  });
});
