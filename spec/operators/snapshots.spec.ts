import { type Snapshot, snapshots, type Step, TerminalError } from 'kreconciler/operators';
import { marbles } from 'kreconciler/testing';
import fc from 'fast-check';
import { from, map, Subject } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { DrivenWorkqueue } from '../support/driven-workqueue.js';

const base = { id: 'a', worker: 0, at: 0 } as const;
const steps: Record<string, Step> = {
  e: { ...base, kind: 'enqueued', reason: 'event' },
  m: { ...base, kind: 'merged' },
  s: { ...base, kind: 'started', attempt: 1, reason: 'event', streams: [], waited: 0 },
  k: { ...base, kind: 'succeeded', attempt: 1, took: 0 },
};

function snapshotsOf(steps: readonly Step[]): Snapshot[] {
  const seen: Snapshot[] = [];
  from(steps)
    .pipe(snapshots())
    .subscribe((snapshot) => seen.push(snapshot));
  return seen;
}

function after(driven: DrivenWorkqueue): string {
  const { ready, running, waiting, abandoned } = snapshotsOf(driven.steps).at(-1)!;
  return `ready ${ready}, running ${running}, waiting ${waiting}, abandoned ${abandoned}`;
}

/** What the queue itself says. */
function actually({ queue }: DrivenWorkqueue): string {
  // What only rests is done, as far as steps tell.
  const count = (state: string) => queue.entries.values().filter((entry) => entry.state === state && entry.counts !== 'rest').length;
  return `ready ${count('ready')}, running ${count('running')}, waiting ${count('waiting')}, abandoned ${count('abandoned')}`;
}

const queue = () => new DrivenWorkqueue({ maxItemRetries: 1 });
const terminal = new TerminalError('no');

describe('snapshots', () => {
  it.each<[string, () => DrivenWorkqueue, string]>([
    ['an event', () => queue().offer('a'), 'ready 1, running 0, waiting 0, abandoned 0'],
    ['another event', () => queue().offer('a').offer('a'), 'ready 1, running 0, waiting 0, abandoned 0'],
    ['another id', () => queue().offer('a').offer('b'), 'ready 2, running 0, waiting 0, abandoned 0'],
    ['a start', () => queue().offer('a').offer('b').start(), 'ready 1, running 1, waiting 0, abandoned 0'],
    ['a success', () => queue().offer('a').start().succeed(), 'ready 0, running 0, waiting 0, abandoned 0'],
    ['a success while dirty', () => queue().offer('a').start().offer('a').succeed(), 'ready 1, running 0, waiting 0, abandoned 0'],
    ['a requeue', () => queue().offer('a').start().succeed(100), 'ready 0, running 0, waiting 1, abandoned 0'],
    ['a failure', () => queue().offer('a').start().fail(), 'ready 0, running 0, waiting 1, abandoned 0'],
    ['an event for an id that waits', () => queue().offer('a').start().fail().offer('a'), 'ready 0, running 0, waiting 1, abandoned 0'],
    ['a drop', () => queue().offer('a').start().fail(terminal), 'ready 0, running 0, waiting 0, abandoned 0'],
    ['a drop while dirty', () => queue().offer('a').start().offer('a').fail(terminal), 'ready 0, running 0, waiting 1, abandoned 0'],
    [
      'an id that starts afresh',
      () => queue().offer('a').start().offer('a').fail(terminal).advance(100),
      'ready 1, running 0, waiting 0, abandoned 0',
    ],
    ['a run over time', () => queue().offer('a').start().abandon(), 'ready 0, running 0, waiting 0, abandoned 1'],
    ['one over time that is dropped', () => queue().offer('a').start().abandon(terminal), 'ready 0, running 0, waiting 0, abandoned 1'],
    ['an event for it', () => queue().offer('a').start().abandon(terminal).offer('a'), 'ready 0, running 0, waiting 0, abandoned 1'],
    ['its release', () => queue().offer('a').start().abandon().release('a'), 'ready 0, running 0, waiting 1, abandoned 0'],
    [
      'the release of one dropped',
      () => queue().offer('a').start().abandon(terminal).release('a'),
      'ready 0, running 0, waiting 0, abandoned 0',
    ],
    [
      'the release of one due',
      () => queue().offer('a').start().abandon().advance(300).release('a'),
      'ready 1, running 0, waiting 0, abandoned 0',
    ],
    ['a stop', () => queue().offer('a').offer('b').start().offer('a').fail().stop(), 'ready 0, running 0, waiting 0, abandoned 0'],
    [
      'a success of a run that was discarded with its mark, and marked anew while paused',
      () => queue().offer('a').start().offer('a').discard('a').pause('a').offer('a').succeed(),
      'ready 0, running 0, waiting 1, abandoned 0',
    ],
    [
      'a failure of a run that was discarded with its mark, and marked anew',
      () => queue().offer('a').start().offer('a').discard('a').offer('a').fail(),
      'ready 0, running 0, waiting 1, abandoned 0',
    ],
    [
      'a stop with a run that was discarded with its mark, and marked anew',
      () => queue().offer('a').start().offer('a').discard('a').offer('a').stop().succeed(),
      'ready 0, running 0, waiting 0, abandoned 0',
    ],
    ['a reset', () => queue().offer('a').start().offer('a').reset(true), 'ready 0, running 0, waiting 0, abandoned 1'],
  ])('should count after %s', (_name, driving, counts) => {
    const driven = driving();
    expect(after(driven)).toBe(counts);
    expect(actually(driven)).toBe(counts);
  });

  it('should never see an id wait that is dropped by a stop, though it was dirty', () => {
    const all = snapshotsOf(queue().offer('a').start().offer('a').reset().steps);
    expect(all.map(({ ready, running, waiting }) => [ready, running, waiting])).toEqual([
      [1, 0, 0],
      [0, 1, 0],
      [0, 1, 0],
      [0, 0, 0],
      [1, 0, 0],
      [0, 0, 0],
    ]);
  });

  it('should count ids by worker, in the order of their numbers', () => {
    const enqueued = (id: string, worker: number): Step => ({ kind: 'enqueued', id, worker, at: 0, reason: 'event' });
    const [, , last] = snapshotsOf([enqueued('a', 2), enqueued('b', 0), enqueued('c', 2)]);
    expect(last).toEqual({
      ready: 3,
      running: 0,
      waiting: 0,
      abandoned: 0,
      workers: [
        { worker: 0, ready: 1, running: 0, waiting: 0, abandoned: 0 },
        { worker: 2, ready: 2, running: 0, waiting: 0, abandoned: 0 },
      ],
    });
  });

  it('should not change one that it has emitted', () => {
    const [first, second] = snapshotsOf([steps['e']!, steps['s']!]);
    expect(first).toMatchObject({ ready: 1, running: 0, workers: [{ worker: 0, ready: 1, running: 0 }] });
    expect(second).toMatchObject({ ready: 0, running: 1, workers: [{ worker: 0, ready: 0, running: 1 }] });
  });

  it('should count nothing for an event that reached no lane', () => {
    const rejected: Step = { ...base, kind: 'rejected', worker: -1, reason: 'unrouted' };
    expect(snapshotsOf([rejected])).toEqual([{ ready: 0, running: 0, waiting: 0, abandoned: 0, workers: [] }]);
  });

  it('should not count a second time what a full queue refuses', () => {
    expect(after(new DrivenWorkqueue({ workerQueueSize: 1 }).offer('a').offer('b'))).toBe('ready 1, running 0, waiting 0, abandoned 0');
    expect(after(new DrivenWorkqueue({ workerQueueSize: 1 }).offer('a').start().succeed(100).offer('b').offer('a'))).toBe(
      'ready 1, running 0, waiting 1, abandoned 0',
    );
  });

  it.each(['__proto__', 'constructor'])('should count %s like any other id', (id) => {
    expect(after(queue().offer(id).start())).toBe('ready 0, running 1, waiting 0, abandoned 0');
  });

  const does = fc.constantFrom<((driven: DrivenWorkqueue) => unknown)[]>(
    (driven) => driven.offer('a'),
    (driven) => driven.offer('b'),
    (driven) => driven.queue.running === 0 && driven.start(),
    (driven) => driven.queue.running && driven.succeed(),
    (driven) => driven.queue.running && driven.succeed(150),
    (driven) => driven.queue.running && driven.fail(),
    (driven) => driven.queue.running && driven.fail(terminal),
    (driven) => driven.queue.running && driven.abandon(),
    (driven) => [...driven.open.keys()].slice(0, 1).map((id) => driven.release(id)),
    (driven) => driven.advance(100),
    (driven) => driven.reset(true),
  );

  it('should agree with the queue after every step, whatever happens', () => {
    fc.assert(
      fc.property(fc.array(does, { maxLength: 40, size: 'max' }), (commands) => {
        const driven = queue();
        for (const command of commands) {
          command(driven);
          if (driven.steps.length > 0) expect(after(driven)).toBe(actually(driven));
        }
      }),
      { numRuns: 300 },
    );
  });

  const rests = fc.constantFrom<((driven: DrivenWorkqueue) => unknown)[]>(
    (driven) => driven.pause('a'),
    (driven) => driven.resume('a'),
    (driven) => driven.pause(),
    (driven) => driven.resume(),
    (driven) => driven.ask({ id: 'a', force: true }),
    (driven) => driven.queue.running === 0 && driven.discard('a'),
  );

  it('should agree with the queue where ids rest, are paused, forced and discarded, too', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(does, rests), { maxLength: 40, size: 'max' }), (commands) => {
        const driven = new DrivenWorkqueue({ maxItemRetries: 1, cooldown: 150 });
        for (const command of commands) {
          command(driven);
          if (driven.steps.length > 0) expect(after(driven)).toBe(actually(driven));
        }
      }),
      { numRuns: 300 },
    );
  });

  it('should never go below 0, though it was subscribed in the middle', () => {
    fc.assert(
      fc.property(fc.array(does, { maxLength: 40, size: 'max' }), fc.nat(40), (commands, missed) => {
        const driven = queue();
        for (const command of commands) command(driven);
        for (const { workers, ...counts } of snapshotsOf(driven.steps.slice(missed))) {
          for (const one of [counts, ...workers]) expect(Math.min(...Object.values<number>({ ...one }))).toBeGreaterThanOrEqual(0);
        }
      }),
      { numRuns: 300 },
    );
  });

  it(
    'should complete, fail and be unsubscribed with its source',
    marbles(({ hot, expectObservable, expectSubscriptions }) => {
      const busy = map(({ ready, running }: Snapshot) => String(ready + running));
      expectObservable(hot('-e-s-k-|', steps).pipe(snapshots(), busy)).toBe('-1-1-0-|');
      expectObservable(hot('-e-s-#  ', steps).pipe(snapshots(), busy)).toBe('-1-1-#');
      expectObservable(hot<Step>('|').pipe(snapshots())).toBe('|');
      expectObservable(hot<Step>('-').pipe(snapshots())).toBe('-');
      const source = hot('-e-s-k-|', steps);
      expectObservable(source.pipe(snapshots(), busy), '----!').toBe('-1-1');
      expectSubscriptions(source.subscriptions).toBe('^---!');
    }),
  );

  it('should count from the beginning for each subscription', () => {
    const source = new Subject<Step>();
    const counted = source.pipe(snapshots());
    const seen: number[] = [];
    counted.subscribe();
    source.next(steps['e']!);
    counted.subscribe(({ ready }) => seen.push(ready));
    source.next({ ...steps['e']!, id: 'b' });
    expect(seen).toEqual([1]);
  });
});
