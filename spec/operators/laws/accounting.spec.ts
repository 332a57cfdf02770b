import { type ReconcileConfig, type Reconciler, reconcile, type Step, TerminalError, type Trigger } from 'kreconciler/operators';
import { marbles } from 'kreconciler/testing';
import { ignoreElements, Subject, timer } from 'rxjs';
import { describe, expect, it, test } from 'vitest';
import { checkAccounting } from '../../support/accounting.js';
import { inWords, NOTHING_LEFT, Rig } from '../../support/rig.js';

const fails = (): never => {
  throw new Error('no');
};

/** What can become of an id, by name: how its run ends, and in what kind of loop. */
const fates: Record<string, { reconciler: Reconciler; config?: ReconcileConfig; run?: (rig: Rig) => void }> = {
  'it succeeds': { reconciler: () => undefined },
  'it polls': { reconciler: (_, { reason }) => (reason === 'event' ? { requeueDelay: 30 } : undefined) },
  'it fails once': { reconciler: (_, { attempt }) => (attempt === 1 ? fails() : undefined) },
  'it fails for ever': { reconciler: fails },
  'it is terminal': {
    reconciler: () => {
      throw new TerminalError('no');
    },
  },
  'it may not wait': { reconciler: fails, config: { delayQueueSize: 0 } },
  'it may not poll': { reconciler: () => ({ requeueDelay: 5 }), config: { delayQueueSize: 0 } },
  'it is over time': { reconciler: () => new Subject<undefined>(), config: { maxReconcileTime: 15 } },
  'it is slow': { reconciler: () => timer(25, Rig.current.clock).pipe(ignoreElements()) },
  'the queue is full': { reconciler: () => timer(25, Rig.current.clock).pipe(ignoreElements()), config: { workerQueueSize: 1 } },
};
/** How a loop goes on, by name. */
const ends: Record<string, (rig: Rig) => void> = {
  drained: (rig) => rig.events.complete(),
  stopped: (rig) => rig.stop.next(),
  'reset and drained': (rig) => {
    rig.reset.next();
    rig.events.complete();
  },
  'failed by its source': (rig) => rig.events.error(new Error('source')),
};

describe('A1 to A4: each step has its consequence', () => {
  for (const [fate, { reconciler, config }] of Object.entries(fates)) {
    for (const [end, make] of Object.entries(ends)) {
      it.each([0, 5, 20, 100])(`A1, A2, A3, A4 should hold when ${fate} and the loop is ${end} after %i ms`, (ms) => {
        const events: Trigger[] = [];
        const rig: Rig = new Rig(reconciler, { maxItemRetries: 3, ...config });
        const trigger = (...ids: string[]): void => {
          for (const id of ids) {
            const event = { id };
            events.push(event);
            rig.events.next(event);
          }
        };
        trigger('a', 'a', 'b', 'c', '');
        rig.clock.advance(2);
        trigger('a', 'b');
        rig.clock.advance(ms);
        if (ms > 0) trigger('a', 'd');
        make(rig);
        rig.clock.advance(100_000);
        expect(rig.end).toBeDefined();
        checkAccounting(rig.steps, events);
        expect(rig.left).toEqual(NOTHING_LEFT);
      });
    }
  }
});

describe('A1: an event yields exactly one of enqueued, merged, rejected', () => {
  test('A1 should answer each event with one step, and that alone carries it', () => {
    const rig: Rig = new Rig((id) => (id === 'a' ? timer(5, rig.clock).pipe(ignoreElements()) : undefined), {
      workerQueueSize: 1,
      workerHasher: (id) => (id === 'x' ? -1 : 0),
    });
    const events = ['a', 'a', 'b', 'b', 'c', 'x', ''].map((id): Trigger => ({ id, stream: 's', message: {} }));
    for (const event of events) rig.events.next(event);
    rig.clock.advance(100);
    expect(rig.steps.filter(({ trigger }) => trigger !== undefined).map(inWords)).toEqual([
      'enqueued a',
      'merged a',
      'enqueued b',
      'merged b',
      'rejected c full',
      'rejected x unrouted',
      'rejected  invalid_id',
    ]);
    expect(rig.steps.flatMap(({ trigger }) => trigger ?? [])).toEqual(events);
    rig.steps.flatMap(({ trigger }) => trigger ?? []).forEach((trigger, i) => expect(trigger).toBe(events[i]));
  });

  describe.each<[string, ReconcileConfig, string]>([
    ['routes it', {}, 'enqueued web'],
    ['refuses it', { workerHasher: () => -1 }, 'rejected web unrouted'],
  ])('by a hasher that %s', (_, { workerHasher = () => 0 }, first) => {
    it.each(Object.entries(ends))('A1 should answer an event while whose routing the loop is %s', (_end, end) => {
      for (const before of [[], ['db']]) {
        const hasher = (id: string): number => {
          if (id === 'db') return 0;
          end(rig);
          return workerHasher(id, 1);
        };
        const rig: Rig = new Rig(() => undefined, { workerHasher: hasher });
        rig.trigger(...before, 'web');
        rig.clock.advance(100);
        expect(rig.told().filter((step) => step.includes('web'))[0]).toBe(first);
        expect(rig.end).toBeDefined();
        expect(rig.told().filter((step) => /^(enqueued|rejected)/.test(step))).toHaveLength(before.length + 1);
        expect(rig.left).toEqual(NOTHING_LEFT);
      }
    });
  });

  test('A1 should answer an event that is sent while another one is routed', () => {
    const hasher = (id: string): number => {
      if (id === 'web') rig.trigger('db');
      if (id === 'db') rig.events.complete();
      return 0;
    };
    const rig: Rig = new Rig(() => undefined, { workerHasher: hasher });
    rig.trigger('web');
    expect(rig.told('enqueued')).toEqual(['enqueued db', 'enqueued web']);
    expect(rig.end).toBe('completed');
  });

  test('A1 should give a bare string the trigger that it is short for', () => {
    const rig: Rig = new Rig(() => undefined);
    rig.trigger('a');
    expect(rig.steps[0]).toEqual({ kind: 'enqueued', id: 'a', worker: 0, at: 0, reason: 'event', trigger: { id: 'a' } });
  });
});

describe('A5: the order of things', () => {
  test('A5 should deliver steps caused during a delivery after it, in order, to all observers', () => {
    const source = new Subject<string>();
    const steps = new Subject<Step>();
    const seen: string[][] = [[], [], []];
    for (const observer of seen) {
      steps.subscribe((step) => {
        observer.push(inWords(step));
        // Only the first observer talks back: the others must nevertheless see the same order.
        if (observer !== seen[0] || observer.length > 5) return;
        if (inWords(step) === 'enqueued a') source.next('b');
        if (inWords(step) === 'started b') source.next('a');
      });
    }
    source.pipe(reconcile(() => undefined)).subscribe(steps);
    source.next('a');
    expect(seen[0]).toEqual([
      'enqueued a',
      'enqueued b',
      'started a',
      'succeeded a',
      'started b',
      'enqueued a',
      'succeeded b',
      'started a',
      'succeeded a',
    ]);
    expect(seen[1]).toEqual(seen[0]);
    expect(seen[2]).toEqual(seen[0]);
  });

  test('A5 should let an observer see a step before its consequence starts', () => {
    const log: string[] = [];
    const rig: Rig = new Rig(
      (id) => {
        log.push(`run ${id}`);
        if (id === 'a') rig.trigger('b');
      },
      {},
      (step) => log.push(inWords(step)),
    );
    rig.trigger('a');
    expect(log).toEqual(['enqueued a', 'started a', 'run a', 'enqueued b', 'succeeded a', 'started b', 'run b', 'succeeded b']);
  });

  test('A5 should have changed the state before the step is emitted', () => {
    const states: string[] = [];
    const rig: Rig = new Rig(
      (_, { attempt }) => (attempt === 1 ? fails() : undefined),
      {},
      ({ kind }, { queues }) => {
        const [entry] = queues[0]!.entries.values();
        states.push(`${kind}: ${entry?.state ?? 'idle'}`);
      },
    );
    rig.trigger('a');
    rig.clock.advance(100);
    expect(states).toEqual([
      'enqueued: ready',
      'started: running',
      'requeued: waiting',
      'enqueued: ready',
      'started: running',
      'succeeded: idle',
    ]);
  });

  test('A5 should let an observer stop the loop on seeing a success, before the next id starts', () => {
    const ran: string[] = [];
    const rig: Rig = new Rig(
      (id) => {
        ran.push(id);
        if (id === 'go') rig.trigger('a', 'b');
      },
      {},
      (step, { stop }) => {
        if (inWords(step) === 'succeeded a') stop.next();
      },
    );
    rig.trigger('go');
    expect(ran).toEqual(['go', 'a']);
    expect(rig.told().slice(-2)).toEqual(['succeeded a', 'dropped b stopped']);
    expect(rig.end).toBe('completed');
  });

  test('A5 should not start an id that is reset while its `started` is delivered', () => {
    const ran: string[] = [];
    const rig: Rig = new Rig(
      (id) => void ran.push(id),
      {},
      (step, { reset }) => {
        if (inWords(step) === 'started a') reset.next();
      },
    );
    rig.trigger('a', 'b');
    expect(ran).toEqual(['b']);
    expect(rig.told()).toEqual(['enqueued a', 'started a', 'dropped a stopped', 'enqueued b', 'started b', 'succeeded b']);
  });

  test('A5 should complete after the last step, whoever causes the end', () => {
    const log: string[] = [];
    const source = new Subject<string>();
    source.pipe(reconcile(() => undefined)).subscribe({
      next: (step) => {
        log.push(inWords(step));
        if (step.kind === 'enqueued') source.complete();
      },
      complete: () => log.push('complete'),
    });
    source.next('a');
    expect(log).toEqual(['enqueued a', 'started a', 'succeeded a', 'complete']);
  });

  test(
    'A5 should deliver in order across lanes',
    marbles(({ hot, cold, scheduler, expectSteps }) => {
      const source = hot('     (ax)|');
      const run = cold('       ---|');
      expectSteps(
        source.pipe(reconcile(() => run.pipe(ignoreElements()), { scheduler, workerCount: 2, workerHasher: (id) => (id === 'a' ? 0 : 1) })),
      ).toBeExactly({
        enqueued: '            (ax)',
        started: '             (ax)',
        succeeded: '           ---(ax)',
        ends: '                ----|',
      });
    }),
  );
});
