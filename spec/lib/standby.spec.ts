import { concat, NEVER, type Observable, of, Subject } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { acknowledge, type ControllerContext, type Reconciler, resync, type Trigger } from 'kreconciler';
import { controlled } from '../support/controlled.js';
import { counted } from '../support/counted.js';

const nothing: Reconciler<ControllerContext> = () => undefined;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe('A cold standby', () => {
  it('L1 should subscribe to nothing before it leads, as by default', () => {
    const stream = counted(NEVER);
    const { controller } = controlled(nothing, { stream: stream.source }, { standby: 'cold' });
    void controller.run();
    expect(stream.subscribed()).toBe(0);
  });
});

describe('A warm standby', () => {
  it('should run nothing and show no backlog before it leads, and run what it has remembered at once when it does', async () => {
    const ran: string[] = [];
    const list = vi.fn(async () => ['apple', 'pear']);
    const streams = { resync: resync({ every: 60_000, list }), changes: concat(of('plum', 'plum'), NEVER) };
    const { controller, steps, kinds } = controlled((id) => void ran.push(id), streams, { standby: 'warm' });
    void controller.run();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(list).toHaveBeenCalledOnce();
    expect(controller.inspect()).toEqual({ leading: false, ready: 0, running: 0, waiting: 0, abandoned: 0, workers: [], ids: [] });
    expect(steps).toEqual([]);
    list.mockImplementation(() => new Promise(() => undefined));
    controller.becomeLeader();
    expect(ran.sort()).toEqual(['apple', 'pear', 'plum']);
    expect(kinds('plum')).toEqual(['enqueued', 'started', 'succeeded']);
  });

  it('should let events through while it leads', () => {
    const changes = new Subject<string>();
    const { controller, kinds } = controlled(nothing, { changes }, { standby: 'warm' });
    void controller.run();
    changes.next('apple');
    controller.becomeLeader();
    changes.next('pear');
    expect([kinds('apple'), kinds('pear')]).toEqual(Array(2).fill(['enqueued', 'started', 'succeeded']));
  });

  it('L3 should subscribe anew after each loss, so that what was dropped with it is listed again', async () => {
    const signals: AbortSignal[] = [];
    const list = vi.fn(() => ['apple']);
    const all = resync({ every: 60_000, list });
    const hung = (): Promise<void> => new Promise(() => undefined);
    const stream = (signal: AbortSignal): Observable<string> => {
      signals.push(signal);
      return all;
    };
    const { controller, kinds } = controlled(hung, { all: stream }, { standby: 'warm' });
    void controller.run();
    expect(signals).toHaveLength(1);
    controller.becomeLeader();
    expect(signals).toHaveLength(1);
    controller.stepDown();
    expect(kinds('apple')).toEqual(['enqueued', 'started', 'dropped', 'abandoned']);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
    controller.becomeLeader();
    expect([signals.length, list.mock.calls.length]).toEqual([2, 2]);
    expect(kinds('apple')).toEqual(['enqueued', 'started', 'dropped', 'abandoned', 'merged']);
  });

  it('should say of a remembered id which streams asked', () => {
    const asked: (readonly string[])[] = [];
    const { controller } = controlled(
      (_, { streams }) => void asked.push(streams),
      { first: of('apple'), second: concat(of('apple'), NEVER) },
      { standby: 'warm', workerCount: 1 },
    );
    const running = controller.run();
    void running;
    controller.becomeLeader();
    expect(asked.flat().sort()).toEqual(['first', 'second']);
  });

  it('should remember the last event of an id, with the highest priority, and absorb what carries a message', () => {
    const changes = new Subject<Trigger>();
    const { controller, steps } = controlled(nothing, { changes }, { standby: 'warm' });
    const acked: unknown[] = [];
    controller.steps.pipe(acknowledge({ ack: (message) => acked.push(message), nack: () => undefined })).subscribe();
    void controller.run();
    changes.next({ id: 'apple', message: 'first', priority: 5 });
    changes.next({ id: 'apple' });
    changes.next({ id: 'apple', message: 'second', priority: -1 });
    changes.next({ id: 'apple', message: 'third' });
    changes.next({ id: 'pear', priority: -1 });
    changes.next({ id: 'pear', force: true });
    changes.next({ id: 'pear', priority: -1 });
    controller.becomeLeader();
    const stream = 'changes';
    expect(steps.flatMap(({ trigger }) => trigger ?? [])).toEqual([
      {
        id: 'apple',
        stream,
        message: 'third',
        priority: 5,
        absorbed: [
          { id: 'apple', stream, message: 'first', priority: 5 },
          { id: 'apple', stream, message: 'second', priority: 5 },
        ],
      },
      { id: 'pear', stream, priority: 0, force: true },
    ]);
    expect(acked.sort()).toEqual(['first', 'second', 'third']);
  });

  it('should remember no more than fits into the queues, and subscribe anew with the lead if there was more', () => {
    const stream = counted(concat(of('apple', 'pear', 'apple', 'plum', 'quince'), NEVER));
    const ran: string[] = [];
    const { controller } = controlled((id) => void ran.push(id), { stream: stream.source }, { standby: 'warm', workerQueueSize: 3 });
    void controller.run();
    expect(stream.subscribed()).toBe(1);
    controller.becomeLeader();
    expect([stream.subscribed(), stream.open()]).toEqual([2, 1]);
    expect(new Set(ran)).toEqual(new Set(['apple', 'pear', 'plum', 'quince']));
  });

  it('should end once its streams are complete, but not before it has led and all has settled', async () => {
    let isDone = false;
    const { controller, kinds } = controlled(nothing, { boot: of('apple') }, { standby: 'warm' });
    void controller.run().then(() => (isDone = true));
    await vi.advanceTimersByTimeAsync(1_000);
    expect(isDone).toBe(false);
    controller.becomeLeader();
    await vi.advanceTimersByTimeAsync(0);
    expect(isDone).toBe(true);
    expect(kinds()).toEqual(['enqueued', 'started', 'succeeded']);
  });

  it('should make run reject when a stream fails before it leads', async () => {
    const changes = new Subject<string>();
    const { controller } = controlled(nothing, { changes, noop: NEVER }, { standby: 'warm' });
    const run = controller.run().catch((error: unknown) => error);
    changes.error(new Error('boom'));
    expect(await run).toMatchObject({ message: 'Event stream `changes` failed: boom' });
  });

  it('should let its streams go when it is stopped before it leads', async () => {
    const stream = counted(concat(of('apple'), NEVER));
    const { controller, steps } = controlled(nothing, { stream: stream.source }, { standby: 'warm' });
    const stop = new AbortController();
    const run = controller.run(stop.signal);
    stop.abort();
    await run;
    expect([stream.open(), steps, vi.getTimerCount()]).toEqual([0, [], 0]);
  });

  it('should work without an election as well', async () => {
    const { controller, kinds } = controlled(nothing, { boot: of('apple') }, { standby: 'warm', leaderElectionEnabled: false });
    await controller.run();
    expect(kinds()).toEqual(['enqueued', 'started', 'succeeded']);
  });

  it('should be refused by name where it is neither cold nor warm', () => {
    expect(() => controlled(nothing, {}, { standby: 'hot' as never })).toThrow(
      new TypeError("Expected `standby` to be 'cold' or 'warm', got `hot` (string)"),
    );
  });
});
