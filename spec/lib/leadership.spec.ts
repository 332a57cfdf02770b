import { EventEmitter, on } from 'node:events';
import { concat, defer, finalize, NEVER, Observable, of, Subject, throwError } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Controller, type ControllerContext, noopStream, type Reconciler, resync, type Term } from 'kreconciler';
import { controlled } from '../support/controlled.js';
import { counted } from '../support/counted.js';
import { deferred } from '../support/deferred.js';
import { type Line, logged } from '../support/logged.js';

const nothing: Reconciler<ControllerContext> = () => undefined;
const hung = (): Promise<void> => new Promise(() => undefined);

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe('Leadership', () => {
  it('L1 should list, subscribe and run nothing before it leads', async () => {
    const stream = counted(concat(of('x'), NEVER));
    const list = vi.fn(() => ['x']);
    const { controller, steps } = controlled(nothing, { stream: stream.source, resync: resync({ every: 100, list }) });
    const stop = new AbortController();
    const run = controller.run(stop.signal);
    await vi.advanceTimersByTimeAsync(1000);
    expect([stream.subscribed(), list.mock.calls.length, steps.length]).toEqual([0, 0, 0]);
    controller.becomeLeader();
    expect([stream.subscribed(), list.mock.calls.length]).toEqual([1, 1]);
    expect(steps.length).toBeGreaterThan(0);
    stop.abort();
    await run;
  });

  describe('L2 on loss', () => {
    it('should abort running signals at once, drop ready, waiting and dirty ids, and start nothing', async () => {
      let signal: AbortSignal | undefined;
      const reconciler: Reconciler<ControllerContext> = (id, context) => {
        if (id === 'waiting') return { requeueDelay: 1000 };
        signal = context.signal;
        return hung();
      };
      const stream = counted(concat(of('waiting', 'running', 'running', 'ready'), NEVER));
      const { controller, kinds } = controlled(reconciler, { stream: stream.source });
      const stop = new AbortController();
      const run = controller.run(stop.signal);
      controller.becomeLeader();
      expect(controller.inspect()).toMatchObject({ ready: 1, running: 1, waiting: 1 });
      controller.stepDown();
      expect(signal?.aborted).toBe(true);
      expect(stream.open()).toBe(0);
      expect(kinds('ready')).toEqual(['enqueued', 'dropped']);
      expect(kinds('waiting')).toEqual(['enqueued', 'started', 'requeued', 'dropped']);
      expect(kinds('running')).toEqual(['enqueued', 'started', 'merged', 'dropped', 'enqueued', 'dropped', 'abandoned']);
      await vi.advanceTimersByTimeAsync(100_000);
      expect(controller.inspect()).toMatchObject({ leading: false, ready: 0, running: 0, waiting: 0, abandoned: 1 });
      stop.abort();
      await vi.advanceTimersByTimeAsync(30_000);
      await run;
    });

    it('should let nothing in that an observer of the drop triggers', async () => {
      const events = new Subject<string>();
      const { controller, kinds } = controlled(hung, { events });
      controller.steps.subscribe(({ kind }) => {
        if (kind === 'dropped') events.next('y');
      });
      void controller.run();
      controller.becomeLeader();
      events.next('x');
      controller.stepDown();
      await vi.advanceTimersByTimeAsync(1000);
      expect(kinds('y')).toEqual([]);
    });
  });

  it('L3 should subscribe anew on regain, once, however often the signal repeats', async () => {
    const leader = new Subject<boolean>();
    const stream = counted(NEVER);
    const list = vi.fn(() => ['x']);
    const { controller } = controlled(nothing, { stream: stream.source, resync: resync({ every: 60_000, list }) }, { leader });
    const stop = new AbortController();
    const run = controller.run(stop.signal);
    for (let term = 1; term <= 100; term++) {
      leader.next(true);
      leader.next(true);
      expect([stream.subscribed(), stream.open(), list.mock.calls.length]).toEqual([term, 1, term]);
      leader.next(false);
      leader.next(false);
      expect(stream.open()).toBe(0);
      await vi.advanceTimersByTimeAsync(10);
    }
    expect(vi.getTimerCount()).toBe(0);
    stop.abort();
    await run;
  });

  it('L3 should bring finite streams back whose work was dropped before it was done', async () => {
    const runs = [deferred(), deferred()];
    let started = 0;
    const reconciler = (): Promise<void> | undefined => runs[started++]?.promise;
    const { controller, kinds } = controlled(reconciler, { list: of('x') });
    let done = false;
    void controller.run().then(() => (done = true));
    controller.becomeLeader();
    controller.stepDown();
    runs[0]?.resolve();
    await vi.advanceTimersByTimeAsync(1000);
    expect(done).toBe(false);
    controller.becomeLeader();
    runs[1]?.resolve();
    await vi.advanceTimersByTimeAsync(0);
    expect(done).toBe(true);
    expect(kinds()).toEqual(['enqueued', 'started', 'dropped', 'abandoned', 'released', 'enqueued', 'started', 'succeeded']);
  });

  it.each<[string, (controller: Controller, connection: Subject<never>) => void]>([
    ['ends what runs', (_, connection) => connection.complete()],
    ['resumes what was paused', (controller) => controller.resume('paused')],
  ])('L2 should start nothing on loss though the teardown of a stream %s', async (_, tearDown) => {
    const connection = new Subject<never>();
    const ran: unknown[] = [];
    const stream = concat(of('running', 'ready', 'paused'), NEVER).pipe(finalize(() => tearDown(controller, connection)));
    const reconciler: Reconciler<ControllerContext> = (id) => {
      ran.push(id);
      return connection;
    };
    const { controller, kinds } = controlled(reconciler, { stream });
    const stop = new AbortController();
    const run = controller.run(stop.signal);
    controller.pause('paused');
    controller.becomeLeader();
    controller.stepDown();
    expect(ran).toEqual(['running']);
    for (const id of ['ready', 'paused']) expect(kinds(id)).toContain('dropped');
    controller.becomeLeader();
    expect(ran.slice(0, 2)).toEqual(['running', 'running']);
    stop.abort();
    await vi.advanceTimersByTimeAsync(30_000);
    await run;
  });

  it('should warn of a leader that is not asked, since there is no election', async () => {
    const { logger, lines } = logged();
    const leader = vi.fn(() => false);
    const source = defer(() => of(leader()));
    const config = { leaderElectionEnabled: false, leader: source, observability: { logger } };
    const { controller, kinds } = controlled(nothing, { stream: of('web') }, config);
    await controller.run();
    expect(kinds()).toEqual(['enqueued', 'started', 'succeeded']);
    expect(leader).not.toHaveBeenCalled();
    expect(lines.filter(([level]) => level === 'warn')).toEqual([
      ['warn', 'This controller leads, whatever its `leader` says, since `leaderElectionEnabled` is false', {}],
    ]);
  });

  describe('L4 a leader source', () => {
    it('should hear a reset that comes after it has failed', async () => {
      const [leader, reset] = [new Subject<boolean>(), new Subject<void>()];
      const { controller } = controlled(hung, { stream: concat(of('web'), NEVER) }, { leader, reset, shutdownGrace: 100 });
      const run = controller.run();
      run.catch(() => undefined);
      leader.next(true);
      leader.error(new Error('no quorum'));
      reset.next();
      await vi.advanceTimersByTimeAsync(1_000);
      await expect(run).rejects.toThrow('The leader source failed: no quorum');
    });

    it('should take an error for loss, and make run reject naming it', async () => {
      const leader = new Subject<boolean>();
      const boom = new Error('lease gone');
      const { controller, kinds } = controlled(() => NEVER, { a: concat(of('x'), NEVER) }, { leader });
      const run = controller.run().catch((error: unknown) => error);
      leader.next(true);
      leader.error(boom);
      expect(kinds()).toEqual(['enqueued', 'started', 'dropped']);
      expect(await run).toMatchObject({ message: 'The leader source failed: lease gone', cause: boom });
    });

    it('should make run reject for an error at once, before anything is listened to', async () => {
      const stream = counted(NEVER);
      const { controller } = controlled(nothing, { stream: stream.source }, { leader: throwError(() => new Error('no')) });
      await expect(controller.run()).rejects.toThrow('The leader source failed: no');
      expect(stream.subscribed()).toBe(0);
    });

    it.each([undefined, null, 0, ''])('should not take %o for leading', async (says) => {
      const stream = counted(NEVER);
      const { controller } = controlled(nothing, { stream: stream.source }, { leader: concat(of(says as unknown as boolean), NEVER) });
      const stop = new AbortController();
      const run = controller.run(stop.signal);
      expect([controller.inspect().leading, stream.subscribed()]).toEqual([false, 0]);
      stop.abort();
      await run;
    });

    it.each(['no', 1, {}, { leading: false }, { term: '7' }])('should make run reject for what is no term: %o', async (says) => {
      const stream = counted(NEVER);
      const { controller } = controlled(nothing, { stream: stream.source }, { leader: concat(of(says as unknown as Term), NEVER) });
      await expect(controller.run(AbortSignal.timeout(1000))).rejects.toThrow(
        'The leader source failed: Expected `leader` to be a source of true, false or { term }, got `',
      );
      expect(stream.subscribed()).toBe(0);
    });

    it.each([
      [true, 1],
      [false, 0],
    ])('should leave the last value standing once it has completed: %s', async (last, open) => {
      const stream = counted(NEVER);
      const { controller } = controlled(nothing, { stream: stream.source }, { leader: of(!last, last) });
      const stop = new AbortController();
      const run = controller.run(stop.signal);
      await vi.advanceTimersByTimeAsync(1000);
      expect(stream.open()).toBe(open);
      stop.abort();
      await run;
    });
  });

  it('L5 should let the lease go only after the work has stopped', async () => {
    const happened: string[] = [];
    const leader = new Observable<boolean>((subscriber) => {
      subscriber.next(true);
      return () => happened.push('released');
    });
    const work = deferred();
    const { controller } = controlled(() => work.promise, { a: concat(of('x'), NEVER) }, { leader });
    controller.steps.subscribe(({ kind }) => happened.push(kind));
    const stop = new AbortController();
    const run = controller.run(stop.signal);
    stop.abort();
    await vi.advanceTimersByTimeAsync(1000);
    work.resolve();
    await run;
    expect(happened).toEqual(['enqueued', 'started', 'succeeded', 'released']);
  });

  it('L6 should not mind becomeLeader before run, twice, or after the end', async () => {
    const stream = counted(of('x'));
    const { controller, kinds } = controlled(nothing, { stream: stream.source });
    controller.becomeLeader();
    controller.becomeLeader();
    await controller.run();
    controller.becomeLeader();
    controller.stepDown();
    controller.becomeLeader();
    expect(stream.subscribed()).toBe(1);
    expect(kinds()).toEqual(['enqueued', 'started', 'succeeded']);
  });

  it('L6 should ignore becomeLeader where config.leader is given', async () => {
    const stream = counted(NEVER);
    const { controller } = controlled(nothing, { stream: stream.source }, { leader: of(false) });
    const stop = new AbortController();
    const run = controller.run(stop.signal);
    controller.becomeLeader();
    expect(stream.subscribed()).toBe(0);
    stop.abort();
    await run;
  });

  it('L7 should keep an id serial across terms', async () => {
    const first = deferred();
    let running = 0;
    let most = 0;
    let runs = 0;
    const reconciler = async (): Promise<void> => {
      most = Math.max(most, ++running);
      if (runs++ === 0) await first.promise;
      running--;
    };
    const { controller, kinds } = controlled(reconciler, { a: concat(of('x'), NEVER) });
    const stop = new AbortController();
    const run = controller.run(stop.signal);
    controller.becomeLeader();
    controller.stepDown();
    controller.becomeLeader();
    await vi.advanceTimersByTimeAsync(1000);
    expect(runs).toBe(1);
    first.resolve();
    await vi.advanceTimersByTimeAsync(0);
    expect([runs, most]).toEqual([2, 1]);
    expect(kinds()).toEqual(['enqueued', 'started', 'dropped', 'abandoned', 'merged', 'released', 'enqueued', 'started', 'succeeded']);
    stop.abort();
    await run;
  });

  it('should give the reconciler its term, and take a new term for a loss and a regain', async () => {
    const leader = new Subject<boolean | Term>();
    const terms: (number | undefined)[] = [];
    const stream = counted(concat(of('x'), NEVER));
    const { controller } = controlled((_, { term }) => void terms.push(term), { stream: stream.source }, { leader });
    const stop = new AbortController();
    const run = controller.run(stop.signal);
    leader.next({ term: 3 });
    leader.next({ term: 3 });
    leader.next({ term: 4 });
    leader.next(false);
    leader.next(true);
    expect(terms).toEqual([3, 4, undefined]);
    expect([stream.subscribed(), stream.open()]).toEqual([3, 1]);
    stop.abort();
    await run;
  });

  it('should abort the signal of a stream function when it is let go, and call it once per term', async () => {
    const signals: AbortSignal[] = [];
    const stream = (signal: AbortSignal): Observable<string> => {
      signals.push(signal);
      return NEVER;
    };
    const { controller } = controlled(nothing, { stream });
    const stop = new AbortController();
    const run = controller.run(stop.signal);
    controller.becomeLeader();
    controller.stepDown();
    controller.becomeLeader();
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
    stop.abort();
    await run;
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true]);
  });

  describe('what is said while a change is being told', () => {
    it('should not lead in a term that was taken back by an observer of the drop before it', async () => {
      const leader = new Subject<boolean | Term>();
      const stream = counted(concat(of('running'), NEVER));
      const { controller } = controlled(hung, { stream: stream.source }, { leader });
      controller.steps.subscribe((step) => {
        if (step.kind === 'dropped' && step.reason === 'stopped') leader.next(false);
      });
      void controller.run();
      leader.next({ term: 1 });
      leader.next({ term: 2 });
      expect([controller.inspect().leading, stream.subscribed(), stream.open()]).toEqual([false, 1, 0]);
    });

    it('should let a stream go that asked for the lead while it was let go the time before', () => {
      const events = new Subject<string>();
      let asks = 1;
      const stream = (signal: AbortSignal): Observable<string> => {
        signal.addEventListener('abort', () => {
          if (asks-- > 0) controller.becomeLeader();
        });
        return events;
      };
      const { controller, kinds } = controlled(nothing, { stream });
      void controller.run();
      controller.becomeLeader();
      controller.stepDown();
      expect([controller.inspect().leading, events.observed]).toEqual([true, true]);
      controller.stepDown();
      expect([controller.inspect().leading, events.observed]).toEqual([false, false]);
      events.next('late');
      expect(kinds()).toEqual([]);
    });

    it('should take a loss that is said and taken back at once for the end of a term', async () => {
      const leader = new Subject<boolean>();
      const { controller, kinds } = controlled(hung, { ids: concat(of('running'), NEVER) }, { leader });
      controller.steps.subscribe(({ kind }) => {
        if (kind !== 'started') return;
        leader.next(false);
        leader.next(true);
      });
      void controller.run();
      leader.next(true);
      expect(kinds().slice(0, 5)).toEqual(['enqueued', 'started', 'dropped', 'abandoned', 'merged']);
    });

    it('should drop the work of the term before run rejects, if the source errors because of a step', async () => {
      const leader = new Subject<boolean>();
      const { controller, kinds } = controlled(hung, { ids: concat(of('running', 'ready'), NEVER) }, { leader });
      controller.steps.subscribe(({ kind, id }) => {
        if (kind === 'enqueued' && id === 'ready') leader.error(new Error('lease gone'));
      });
      const run = controller.run().catch((error: unknown) => error);
      leader.next(true);
      expect(controller.inspect()).toMatchObject({ leading: false, ready: 0, running: 0 });
      await vi.advanceTimersByTimeAsync(30_000);
      expect(await run).toMatchObject({ message: 'The leader source failed: lease gone' });
      expect(kinds('ready')).toEqual(['enqueued', 'dropped']);
    });
  });

  describe('standing by', () => {
    const stands = (message: string): Line[] => [
      ['warn', `This controller stands by, since ${message}`, { hint: expect.any(String) as string }],
    ];

    it('should be warned of once where nobody calls becomeLeader', async () => {
      const { logger, lines } = logged();
      const stop = new AbortController();
      const run = new Controller({ observability: { logger } }, nothing, { noopStream }).run(stop.signal);
      await vi.advanceTimersByTimeAsync(4_999);
      expect(lines).toEqual([]);
      await vi.advanceTimersByTimeAsync(60_000);
      expect(lines).toEqual(stands('nobody has called its becomeLeader() yet'));
      stop.abort();
      await run;
    });

    it('should not be warned of where it leads, has led, or waits for another process, and leave no timer', async () => {
      const { logger, lines } = logged();
      const stop = new AbortController();
      const controllers = [{}, { leaderElectionEnabled: false }, { leader: concat(of(false), NEVER) }].map(
        (config) => new Controller({ ...config, observability: { logger } }, nothing, { noopStream }),
      );
      const runs = controllers.map((controller) => controller.run(stop.signal));
      controllers[0]?.becomeLeader();
      controllers[0]?.stepDown();
      await vi.advanceTimersByTimeAsync(10_000);
      stop.abort();
      await Promise.all(runs);
      expect(lines).toEqual([]);
      const early = new AbortController();
      const run = new Controller({}, nothing, { noopStream }).run(early.signal);
      early.abort();
      await run;
      expect(vi.getTimerCount()).toBe(0);
    });

    it('should be warned of where two controllers are given one leader value that one of them holds', async () => {
      let holders = 0;
      const lease = new Observable<boolean>((subscriber) => {
        subscriber.next(holders++ === 0);
      });
      const { logger, lines } = logged();
      const stop = new AbortController();
      const runs = ['first', 'second'].map((name) =>
        new Controller({ name, leader: lease, observability: { logger } }, nothing, { noopStream }).run(stop.signal),
      );
      await vi.advanceTimersByTimeAsync(10_000);
      expect(lines).toEqual(stands('another one of this process leads by the same `leader`'));
      stop.abort();
      await Promise.all(runs);
    });

    it('should leave a stream that is a rejected promise alone until it leads', async () => {
      const boom = new Error('boom');
      const { controller } = controlled(nothing, { boot: Promise.reject(boom), noopStream });
      const run = controller.run().catch((error: unknown) => error);
      // An unhandled rejection would fail the suite.
      await vi.advanceTimersByTimeAsync(1_000);
      controller.becomeLeader();
      expect(await run).toMatchObject({ message: 'Event stream `boot` failed: boom', cause: boom });
    });

    it('F5 should leave no listener behind in 15 terms of a stream that awaits an event', async () => {
      const emitter = new EventEmitter();
      const { controller } = controlled(nothing, { changes: () => on(emitter, 'change') as AsyncIterable<never> });
      void controller.run();
      for (let term = 1; term <= 15; term++) {
        controller.becomeLeader();
        expect(emitter.listenerCount('change')).toBe(1);
        controller.stepDown();
        expect(emitter.listenerCount('change')).toBe(0);
      }
    });
  });
});
