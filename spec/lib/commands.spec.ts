import { concat, NEVER, of, Subject } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Config, constant, type Controller, type ControllerContext, fair, type Reconciler } from 'kreconciler';
import { controlled } from '../support/controlled.js';
import { deferred } from '../support/deferred.js';

const nothing: Reconciler<ControllerContext> = () => undefined;
const working = { leaderElectionEnabled: false };

beforeEach(() => {
  vi.useFakeTimers({ now: 1_000 });
});
afterEach(() => {
  vi.useRealTimers();
});

describe('Controller.pause and resume', () => {
  it('C1 should let nothing of a paused id start, and run it once when it is resumed', () => {
    const changes = new Subject<string>();
    const { controller, steps, kinds } = controlled(nothing, { changes }, working);
    void controller.run();
    controller.pause('apple', 'moving house');
    changes.next('apple');
    changes.next('apple');
    changes.next('pear');
    expect([kinds('apple'), kinds('pear')]).toEqual([
      ['paused', 'merged', 'merged'],
      ['enqueued', 'started', 'succeeded'],
    ]);
    expect(steps[0]).toMatchObject({ why: 'moving house' });
    controller.resume('apple');
    expect(kinds('apple').slice(3)).toEqual(['resumed', 'enqueued', 'started', 'succeeded']);
  });

  it('C1 should pause and resume the whole loop, and an id apart from it', () => {
    const changes = new Subject<string>();
    const { controller, kinds } = controlled(nothing, { changes }, working);
    void controller.run();
    controller.pause(undefined, 'the database is down');
    controller.pause('apple');
    changes.next('apple');
    changes.next('pear');
    expect(controller.inspect()).toMatchObject({
      paused: { since: 1_000, why: 'the database is down' },
      pausedIds: { apple: { since: 1_000 } },
      ids: [
        { id: 'apple', heldBy: 'pause', paused: { since: 1_000 }, streams: ['changes'] },
        { id: 'pear', heldBy: 'pause' },
      ],
    });
    controller.resume();
    expect([kinds('apple'), kinds('pear')]).toEqual([
      ['paused', 'merged'],
      ['merged', 'enqueued', 'started', 'succeeded'],
    ]);
    controller.resume('apple');
    expect(kinds('apple').slice(2)).toEqual(['resumed', 'enqueued', 'started', 'succeeded']);
    expect(controller.inspect()).toEqual(expect.not.objectContaining({ paused: expect.anything() as unknown }));
    expect(controller.inspect().pausedIds).toBeUndefined();
  });

  it('C2 should keep a pause over terms, also one from before run', () => {
    const { controller, kinds } = controlled(nothing, { ids: concat(of('apple'), NEVER) });
    controller.pause('apple');
    void controller.run();
    expect(kinds()).toEqual(['paused']);
    controller.becomeLeader();
    controller.stepDown();
    controller.becomeLeader();
    expect(kinds()).not.toContain('started');
    controller.resume('apple');
    expect(kinds().slice(-3)).toEqual(['enqueued', 'started', 'succeeded']);
  });

  it('should work beside config.commands', () => {
    const { controller, kinds } = controlled(
      nothing,
      { never: NEVER },
      { ...working, commands: of({ kind: 'pause', id: 'apple' } as const) },
    );
    void controller.run();
    controller.resume('apple');
    expect(kinds()).toEqual(['paused', 'resumed']);
  });

  it('should keep who asked with reconcile waiting until it is resumed, and refuse force', async () => {
    const { controller } = controlled(nothing, { never: NEVER }, working);
    void controller.run();
    controller.pause('apple');
    let isDone = false;
    void controller.reconcile('apple').then(() => (isDone = true));
    await expect(controller.reconcile('apple', { force: true })).rejects.toThrow('`apple` was rejected: paused');
    await vi.advanceTimersByTimeAsync(60_000);
    expect(isDone).toBe(false);
    controller.resume('apple');
    await vi.advanceTimersByTimeAsync(0);
    expect(isDone).toBe(true);
  });

  it('C4 should be harmless twice, for nobody, and after the end', async () => {
    const { controller, kinds } = controlled(nothing, { ids: of('apple') }, working);
    controller.resume('pear');
    await controller.run();
    controller.pause('apple');
    controller.resume('apple');
    controller.discard('apple');
    expect(kinds()).toEqual(['enqueued', 'started', 'succeeded']);
  });
});

describe('Controller.discard', () => {
  it('C3 should drop the retries of an id, and reject who waits for it', async () => {
    const reconciler = (): never => {
      throw new Error('down');
    };
    const { controller, steps } = controlled(reconciler, { never: NEVER }, { ...working, backoff: constant(60_000) });
    void controller.run();
    const asked = controller.reconcile('apple').catch((error: unknown) => error);
    controller.discard('apple');
    expect(steps.at(-1)).toMatchObject({ kind: 'dropped', reason: 'discarded' });
    expect(await asked).toEqual(new Error('`apple` was dropped: discarded'));
    expect([controller.inspect().ids, vi.getTimerCount()]).toEqual([[], 0]);
  });
});

describe('Controller commands', () => {
  it.each<[string, (controller: Controller) => void, string]>([
    [
      'pause',
      (controller) => {
        controller.pause('');
      },
      'Expected `id` to be a non-empty string or undefined, got `` (string)',
    ],
    [
      'resume',
      (controller) => {
        controller.resume(7 as never);
      },
      'Expected `id` to be a non-empty string or undefined, got `7` (number)',
    ],
    [
      'discard',
      (controller) => {
        controller.discard(undefined as never);
      },
      'Expected `id` to be a non-empty string, got `undefined`',
    ],
    [
      'pause',
      (controller) => {
        controller.pause('apple', 7 as never);
      },
      'Expected `why` to be a string or undefined, got `7` (number)',
    ],
  ])('should be refused where they are malformed: %s', (_, command, message) => {
    const { controller } = controlled(nothing, { never: NEVER }, working);
    expect(() => {
      command(controller);
    }).toThrow(new TypeError(message));
  });
});

describe('Controller.inspect', () => {
  it('should say whether a ready id waits for its turn, for a place in the loop, or for its key', async () => {
    const streams = { ids: concat(of('a/one', 'a/two', 'b/one', 'b/two', { id: 'c/one', priority: 3 }), NEVER) };
    const config = { ...working, workerConcurrency: 2, order: fair({ key: (id: string) => id.charAt(0), concurrency: 1 }) };
    const held = (changed: Partial<Config>): Record<string, string | undefined> => {
      const { controller } = controlled(() => NEVER, streams, { ...config, ...changed });
      void controller.run();
      const { ids } = controller.inspect();
      expect(ids.filter(({ priority }) => priority !== undefined)).toMatchObject([{ id: 'c/one', priority: 3 }]);
      return Object.fromEntries(ids.map(({ id, heldBy }) => [id, heldBy]));
    };
    expect(held({})).toEqual({ 'a/one': undefined, 'b/one': undefined, 'a/two': 'key', 'b/two': 'key', 'c/one': 'queue' });
    expect(held({ concurrency: 1 })).toMatchObject({ 'a/one': undefined, 'a/two': 'key', 'b/one': 'place', 'c/one': 'place' });
  });

  it('should say why an id does not run, and what it failed with', async () => {
    const open = deferred();
    const reconciler: Reconciler<ControllerContext> = (id) => {
      if (id === 'fails') throw new RangeError('too far');
      if (id === 'polls') return { requeueDelay: 60_000 };
      return id === 'hangs' ? open.promise : undefined;
    };
    const streams = { ids: concat(of('fails', 'polls', 'rests', 'hangs'), NEVER) };
    const config = { ...working, backoff: constant(10_000), maxReconcileTime: 1_000, cooldown: 5_000 };
    const { controller } = controlled(reconciler, streams, config);
    void controller.run();
    await vi.advanceTimersByTimeAsync(1_000);
    const rows = Object.fromEntries(controller.inspect().ids.map(({ id, ...row }) => [id, row]));
    expect(rows['fails']).toMatchObject({
      heldBy: 'retry',
      failures: 1,
      attempt: 2,
      reason: 'retry',
      lastError: { name: 'RangeError', message: 'too far', at: 1_000 },
    });
    expect(rows['polls']).toMatchObject({ heldBy: 'requeue', failures: 0, reason: 'requeue' });
    expect(rows['rests']).toMatchObject({ heldBy: 'cooldown', state: 'waiting' });
    expect(rows['hangs']).toMatchObject({ heldBy: 'promise', state: 'abandoned', lastError: { name: 'TimeoutError', at: 2_000 } });
    expect(rows['polls']).not.toHaveProperty('lastError');
  });
});
