import { byPriority, fair, type Reconciler, type Step } from 'kreconciler/operators';
import { ignoreElements, timer } from 'rxjs';
import { describe, expect, test } from 'vitest';
import { deferred } from '../support/deferred.js';
import { NOTHING_LEFT, Rig } from '../support/rig.js';

// What users of other controllers have reported, as tests of this one.

const takes =
  (ms: number): Reconciler =>
  () =>
    timer(ms, Rig.current.clock).pipe(ignoreElements());
const tenant = (id: string): string => id.split('/')[0] as string;

describe('What was reported of other controllers', () => {
  // ark#3458: so many a window let twice as many run around its edge, and none while it was used up.
  test('W4 should limit by what runs, not by windows of time: never more at once, and a place is free when a run ends', () => {
    let running = 0;
    let most = 0;
    const rig: Rig = new Rig(
      () => {
        most = Math.max(most, ++running);
        return timer(running === 1 ? 7 : 13, rig.clock).pipe(ignoreElements());
      },
      { workerConcurrency: 10, order: fair({ key: tenant, concurrency: 2 }) },
      ({ kind }) => {
        if (kind === 'succeeded') running--;
      },
    );
    for (let i = 0; i < 50; i++) rig.trigger(`acme/${i}`);
    for (let i = 0; i < 400; i++) {
      rig.clock.advance(1);
      // No moment at which one could run, and none does.
      if (rig.told('succeeded').length < 48) expect(running).toBe(2);
    }
    expect(most).toBe(2);
    expect(rig.told('succeeded')).toHaveLength(50);
  });

  // controller-runtime#3496: with a steady flow of high priorities an id of a low one was never reconciled.
  test('W3 should let a low priority run in a bounded time, however many of high priority come', () => {
    const rig: Rig = new Rig(takes(10), { order: byPriority({ ageing: 100 }), workerQueueSize: Infinity });
    rig.events.next({ id: 'first', priority: 5 });
    rig.events.next({ id: 'resync', priority: -5 });
    for (let i = 0; i < 300; i++) {
      // One more than can run.
      rig.events.next({ id: `user/${i}`, priority: 5 });
      rig.events.next({ id: `other/${i}`, priority: 5 });
      rig.clock.advance(10);
    }
    const [start] = rig.starts('resync');
    // Ten priorities of 100 ms each; and those that had come by then go before it.
    expect(start).toBeLessThanOrEqual(2 * 10 * 100 + 20);
    expect(rig.steps.filter(({ kind, at }) => kind === 'started' && at < start!)).toHaveLength(start! / 10);
  });

  // crossplane#7703: a rate limiter dropped what came too fast, and the ids it dropped stayed as they were.
  test('W5, Q1 should delay and merge what comes too fast, and leave no id as it was', async () => {
    const wanted = new Map<string, number>();
    const actual = new Map<string, number | undefined>();
    const rig: Rig = new Rig(
      (id) => {
        actual.set(id, wanted.get(id));
        return timer(3, rig.clock).pipe(ignoreElements());
      },
      { cooldown: 50, workerConcurrency: 2, workerQueueSize: Infinity },
    );
    for (let i = 0; i < 500; i++) {
      const id = `id ${i % 7}`;
      wanted.set(id, i);
      rig.trigger(id);
      await rig.clock.pass(1);
    }
    await rig.clock.pass(500);
    expect(actual).toEqual(wanted);
    expect(rig.told('rejected', 'dropped')).toEqual([]);
    expect(rig.told('merged').length).toBeGreaterThan(300);
    for (const id of wanted.keys()) {
      const starts = rig.starts(id);
      for (let i = 1; i < starts.length; i++) expect(starts[i]! - starts[i - 1]!).toBeGreaterThanOrEqual(50);
    }
  });

  // kustomize-controller#1625: a run that was cancelled for a newer revision was not followed by one for that revision.
  test.each(['fails', 'succeeds', 'is cut off by its time', 'ignores it'] as const)(
    'S2, W7 should run once more after a run that was cancelled for a newer event, if it %s',
    async (end) => {
      let revision = 1;
      const seen: number[] = [];
      const work = deferred<undefined>();
      const rig: Rig = new Rig(
        async (_, { superseded }) => {
          seen.push(revision);
          if (seen.length > 1) return;
          if (end === 'is cut off by its time' || end === 'ignores it') return work.promise;
          await new Promise<void>((resolve, reject) => {
            superseded.addEventListener('abort', () => {
              if (end === 'fails') reject(superseded.reason as Error);
              else resolve();
            });
          });
        },
        { maxReconcileTime: end === 'is cut off by its time' ? 20 : 0, maxItemRetries: 0 },
      );
      rig.trigger('app');
      await rig.clock.pass(5);
      revision = 2;
      rig.trigger('app');
      await rig.clock.pass(100);
      work.resolve(undefined);
      await rig.clock.pass(100);
      expect(seen).toEqual([1, 2]);
      rig.events.complete();
      await rig.clock.pass(100);
      expect(rig.left).toEqual(NOTHING_LEFT);
    },
  );
});

describe('What slows others down', () => {
  /** How long 4000 ids waited that take 5 ms each and come one a ms, at worst but for one in a hundred. */
  function p99(withSlow: boolean, workerConcurrency: number): number {
    const rig: Rig = new Rig((id) => timer(id === 'slow' ? 10_000 : 5, rig.clock).pipe(ignoreElements()), {
      workerConcurrency,
      maxReconcileTime: 0,
      workerQueueSize: Infinity,
    });
    if (withSlow) rig.trigger('slow');
    for (let i = 0; i < 4000; i++) {
      rig.trigger(`quick ${i}`);
      rig.clock.advance(1);
    }
    rig.clock.advance(60_000);
    const waited = rig.steps
      .flatMap((step: Step) => (step.kind === 'started' && step.id !== 'slow' ? [step.waited] : []))
      .sort((a, b) => a - b);
    expect(waited).toHaveLength(4000);
    return waited[Math.floor(waited.length * 0.99)]!;
  }

  test('W1 should let an id that takes 10 s change the p99 wait of the others by 5 ms at most, where 16 may run', () => {
    expect(p99(true, 16) - p99(false, 16)).toBeLessThanOrEqual(5);
    // It is the head of the line where one may run.
    expect(p99(true, 1)).toBeGreaterThan(5000);
  });

  test('W2 should never run more than 8 over 64 workers, and give all of them turns', () => {
    let running = 0;
    let most = 0;
    const turns = new Map<number, number[]>();
    const rig: Rig = new Rig(
      (id) => timer(3 + (id.length % 5), rig.clock).pipe(ignoreElements()),
      { workerCount: 64, concurrency: 8, workerConcurrency: 4, workerQueueSize: Infinity },
      ({ kind, worker }) => {
        if (kind === 'started') {
          most = Math.max(most, ++running);
          turns.set(worker, [...(turns.get(worker) ?? []), rig.told('started').length]);
        } else if (kind === 'succeeded') running--;
      },
    );
    for (let i = 0; i < 1280; i++) rig.trigger(`id ${i * i}`);
    rig.clock.advance(10_000);
    expect(most).toBe(8);
    expect(rig.told('succeeded')).toHaveLength(1280);
    expect(turns.size).toBe(64);
    // Each once a round, but for those that ran before there was a line.
    const first = [...turns.values()].map(([turn]) => turn!);
    expect(Math.max(...first)).toBeLessThanOrEqual(64 + 8);
    expect(rig.left).toEqual(NOTHING_LEFT);
  });
});
