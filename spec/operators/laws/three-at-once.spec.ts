import { fair, RetryError } from 'kreconciler/operators';
import { virtualTime } from 'kreconciler/testing';
import { NEVER, Subject } from 'rxjs';
import { describe, expect, it, test } from 'vitest';
import { checkAccounting } from '../../support/accounting.js';
import { controlled } from '../../support/controlled.js';
import { type Deferred, deferred } from '../../support/deferred.js';
import { NOTHING_LEFT, Rig } from '../../support/rig.js';

const three = { workerConcurrency: 3 };
const ids = ['one', 'two', 'three'];

/** Promises that outlive whatever cuts their runs off, and settle when a test says so. */
class Promises {
  readonly open = new Map<string, Deferred<undefined>>();
  readonly signals: AbortSignal[] = [];
  readonly started: string[] = [];
  readonly reconciler = (id: string, { signal }: { readonly signal: AbortSignal }): Promise<undefined> => {
    if (this.open.has(id)) throw new Error(`S1: ${id} runs already`);
    this.started.push(id);
    this.signals.push(signal);
    const run = deferred<undefined>();
    this.open.set(id, run);
    return run.promise;
  };

  settle(...ids: string[]): void {
    for (const id of ids) {
      this.open.get(id)?.resolve(undefined);
      this.open.delete(id);
    }
  }
}

describe('With three runs at once', () => {
  test('O2 should hold each of those that are over time until its own promise has settled, and let the others go on', async () => {
    const promises = new Promises();
    const rig: Rig = new Rig(promises.reconciler, { ...three, maxReconcileTime: 15, backoff: () => 10 });
    rig.trigger(...ids, 'four', 'five');
    await rig.clock.pass(15);
    expect(rig.told('abandoned')).toEqual(ids.map((id) => `abandoned ${id}`));
    // Their places are free, though their promises are open (W4).
    expect(promises.started).toEqual([...ids, 'four', 'five']);
    promises.settle('four', 'five');
    await rig.clock.pass(200);
    expect(promises.started).toHaveLength(5);
    promises.settle('two');
    await rig.clock.pass(0);
    expect(promises.started.slice(5)).toEqual(['two']);
    promises.settle('one', 'three', 'two');
    await rig.clock.pass(0);
    expect(promises.started.slice(6)).toEqual(['one', 'three']);
    promises.settle('one', 'three');
    rig.events.complete();
    await rig.clock.pass(100);
    expect(rig.end).toBe('completed');
    checkAccounting(rig.steps);
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  test('L7, S1 should hold each across terms until its promise has settled, while its place is free (W4)', async () => {
    const promises = new Promises();
    const rig: Rig = new Rig(promises.reconciler, {
      ...three,
      workerCount: 2,
      workerHasher: (id) => (id === 'other' ? 1 : 0),
      concurrency: 3,
      order: fair({ key: () => 'all', concurrency: 3 }),
    });
    rig.trigger(...ids, 'four', 'other');
    for (let term = 0; term < 3; term++) {
      rig.reset.next();
      expect(promises.signals.slice(0, 3).every(({ aborted }) => aborted)).toBe(true);
      rig.trigger(...ids);
      await rig.clock.pass(100);
      expect(promises.started).toEqual(ids);
    }
    rig.trigger('four', 'five', 'other');
    expect(promises.started.slice(3)).toEqual(['four', 'five', 'other']);
    promises.settle('four', 'five', 'other');
    await rig.clock.pass(0);
    promises.settle('three');
    await rig.clock.pass(0);
    // The events of this term, and none of those before.
    expect(promises.started.slice(6)).toEqual(['three']);
    promises.settle(...ids);
    await rig.clock.pass(0);
    expect(promises.started.slice(7)).toEqual(['one', 'two']);
    promises.settle(...ids);
    rig.events.complete();
    await rig.clock.pass(100);
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  test('L2, P5 should tell the end of each at a reset without a failure, and its mark by two steps', () => {
    const rig: Rig = new Rig(() => NEVER, three);
    rig.trigger(...ids, 'two', 'four');
    const before = rig.steps.length;
    rig.reset.next();
    expect(rig.told().slice(before)).toEqual([
      'dropped four stopped',
      'dropped one stopped',
      'dropped two stopped',
      'enqueued two',
      'dropped two stopped',
      'dropped three stopped',
    ]);
    expect(rig.steps.every((step) => !('failure' in step))).toBe(true);
    checkAccounting(rig.steps);
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  test('P2 should take success, failure and mark of each for what they are while stopping', async () => {
    const runs = new Map<string, Deferred<undefined>>();
    const rig: Rig = new Rig(
      (id) => {
        runs.set(id, deferred<undefined>());
        return runs.get(id)!.promise;
      },
      { ...three, shutdownGrace: 50 },
    );
    rig.trigger(...ids, 'three');
    const before = rig.steps.length;
    rig.stop.next();
    runs.get('two')?.reject(new RetryError('later', 5));
    runs.get('three')?.resolve(undefined);
    await rig.clock.pass(49);
    expect(rig.told().slice(before)).toEqual(['dropped two stopped', 'succeeded three', 'enqueued three', 'dropped three stopped']);
    expect(rig.end).toBeUndefined();
    await rig.clock.pass(1);
    expect(rig.told().slice(before + 4)).toEqual(['dropped one stopped']);
    expect(rig.end).toBe('completed');
    checkAccounting(rig.steps);
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  it.each(['stop', 'reset', 'unsubscribe'] as const)(
    'A5 should start nothing more once the step that one of them makes is answered by %s',
    async (answer) => {
      const runs = new Map<string, Deferred<undefined>>();
      const rig: Rig = new Rig(
        (id) => {
          runs.set(id, deferred<undefined>());
          return runs.get(id)!.promise;
        },
        { ...three, workerQueueSize: 10 },
        (step, { stop, reset, subscription }) => {
          if (step.kind !== 'succeeded') return;
          if (answer === 'unsubscribe') subscription.unsubscribe();
          else (answer === 'stop' ? stop : reset).next();
        },
      );
      rig.trigger(...ids, 'four', 'five');
      runs.get('two')?.resolve(undefined);
      await rig.clock.pass(0);
      expect([...runs.keys()]).toEqual(ids);
    },
  );

  test('O1 should count the time of each alone, and ignore what comes late', async () => {
    const promises = new Promises();
    const rig: Rig = new Rig(promises.reconciler, { ...three, maxReconcileTime: 15, maxItemRetries: 0 });
    rig.trigger('one');
    await rig.clock.pass(10);
    rig.trigger('two');
    promises.settle('one');
    await rig.clock.pass(0);
    rig.trigger('three');
    await rig.clock.pass(30);
    expect(rig.steps.filter(({ kind }) => kind === 'dropped')).toMatchObject([
      { id: 'two', at: 25, failure: 'timeout' },
      { id: 'three', at: 25, failure: 'timeout' },
    ]);
    expect(promises.signals.map(({ aborted }) => aborted)).toEqual([false, true, true]);
    const before = rig.steps.length;
    promises.settle('two', 'three');
    await rig.clock.pass(100);
    expect(rig.told().slice(before)).toEqual(['released two', 'released three']);
    expect(rig.left).toEqual(NOTHING_LEFT);
  });
});

describe('A Controller with three runs at once', () => {
  it('L1 to L3, L7 should lose all of them with its leadership, and run each again in the next term once its promise has settled', () =>
    virtualTime(async ({ scheduler, advance }) => {
      const promises = new Promises();
      const leader = new Subject<boolean>();
      const { controller, kinds } = controlled(promises.reconciler, { list: () => [...ids, 'four'] }, { ...three, leader, scheduler });
      const stop = new AbortController();
      const running = controller.run(stop.signal);
      await advance(10);
      expect(promises.started).toEqual([]);
      leader.next(true);
      await advance(10);
      expect(promises.started).toEqual(ids);
      leader.next(false);
      expect(promises.signals.map(({ aborted }) => aborted)).toEqual([true, true, true]);
      expect(kinds('four')).toEqual(['enqueued', 'dropped']);
      leader.next(true);
      await advance(10);
      expect(promises.started.slice(3)).toEqual(['four']);
      promises.settle('two', 'one', 'three', 'four');
      await advance(10);
      expect(promises.started.slice(4)).toEqual(['two', 'one', 'three']);
      promises.settle(...ids);
      await advance(10);
      expect(kinds().filter((kind) => kind === 'succeeded')).toHaveLength(4);
      stop.abort();
      await running;
    }));
});
