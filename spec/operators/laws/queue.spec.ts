import { type Reconciler, reconcile, type Step, TerminalError, type Trigger } from 'kreconciler/operators';
import { marbles } from 'kreconciler/testing';
import { ignoreElements, of, timer } from 'rxjs';
import { describe, expect, it, test } from 'vitest';
import { inWords, NOTHING_LEFT, Rig } from '../../support/rig.js';

const slow: Reconciler = () => timer(5, Rig.current.clock).pipe(ignoreElements());
const fails = (): never => {
  throw new Error('no');
};

describe('Q1: workerQueueSize bounds the ready ids that came from events', () => {
  test(
    'Q1 should refuse what is beyond the bound, and merge what is there already',
    marbles(({ hot, cold, scheduler, expectSteps }) => {
      const source = hot('     abcdbc----d---|');
      const run = cold('       -----|');
      expectSteps(source.pipe(reconcile(() => run.pipe(ignoreElements()), { scheduler, workerQueueSize: 2 }))).toBeExactly({
        //                     a....b....c....d
        enqueued: '            abc-------d',
        started: '             a----b----c----d',
        succeeded: '           -----a----b----c----d',
        merged: '              ----bc',
        rejected: '            ---d',
        ends: '                --------------------|',
      });
    }),
  );

  test('Q1 should not count the running id', () => {
    const rig: Rig = new Rig(slow, { workerQueueSize: 1 });
    rig.trigger('a', 'b', 'c');
    expect(rig.told('rejected')).toEqual(['rejected c full']);
  });

  test(
    'Q1 should leave the wake-up of a waiting id in place whose event is refused',
    marbles(({ hot, cold, scheduler, expectSteps }) => {
      const run = cold('       --------|');
      let polls = 0;
      const reconciler: Reconciler = (id) => (id === 'p' ? { requeueDelay: polls++ === 0 ? 10 : 0 } : run.pipe(ignoreElements()));
      // q is full from 3 on: a runs, b is ready.
      const source = hot('     p-ab-p---------------|');
      expectSteps(source.pipe(reconcile(reconciler, { scheduler, workerQueueSize: 1, delayResolution: 1 }))).toBeExactly({
        enqueued: '            p-ab------p-',
        started: '             p-a-------b-------p',
        requeued: '            p-----------',
        succeeded: '           ----------a-------(bp)',
        rejected: '            -----p------',
        ends: '                ---------------------|',
      });
    }),
  );

  test('Q1 should hold for each worker by itself', () => {
    const rig: Rig = new Rig(slow, { workerQueueSize: 1, workerCount: 2, workerHasher: (id) => (id < 'm' ? 0 : 1) });
    rig.trigger('a', 'b', 'c', 'x', 'y', 'z');
    expect(rig.told('rejected')).toEqual(['rejected c full', 'rejected z full']);
  });

  test('Q1 should give a place back when the id starts, and when the queue is reset', () => {
    const rig: Rig = new Rig(slow, { workerQueueSize: 1 });
    rig.trigger('a', 'b');
    rig.clock.advance(5);
    rig.trigger('c');
    rig.reset.next();
    rig.trigger('d', 'e', 'f');
    expect(rig.told('rejected')).toEqual(['rejected f full']);
  });

  test('Q1 should let Infinity mean no bound', () => {
    const rig: Rig = new Rig(slow, { workerQueueSize: Infinity });
    for (let i = 0; i < 5000; i++) rig.trigger(`${i}`);
    expect(rig.told('rejected')).toEqual([]);
  });
});

describe('Q2: wake-ups and dirty ids are never refused', () => {
  test('Q2 should take a dirty id and a due retry into a full queue', () => {
    let failed = false;
    const rig: Rig = new Rig(
      (id, context) => {
        if (id === 'r' && !failed) {
          failed = true;
          fails();
        }
        return slow(id, context);
      },
      { workerQueueSize: 1 },
    );
    rig.trigger('r', 'a', 'a', 'b', 'c');
    rig.clock.advance(10);
    // At 5 the dirty a rejoined behind b, and at 10 r woke up, though b was there.
    expect(rig.told('rejected')).toEqual(['rejected c full']);
    rig.clock.advance(100);
    expect(rig.told('started')).toEqual(['started r', 'started a', 'started b', 'started a', 'started r']);
  });

  test('Q2 should merge an event on a retry under embargo when the queue is full', () => {
    const rig: Rig = new Rig((id, context) => (id === 'r' ? fails() : slow(id, context)), { workerQueueSize: 1, backoff: () => 1000 });
    rig.trigger('r', 'a', 'b', 'r', 'c');
    expect(rig.told('merged', 'rejected')).toEqual(['merged r', 'rejected c full']);
  });
});

describe('Q3: delayQueueSize bounds the waiting ids', () => {
  it.each<[string, Reconciler]>([
    ['failed', fails],
    ['asked for a requeue', () => ({ requeueDelay: 100 })],
  ])('Q3 should drop an id that %s beyond the bound', (_, reconciler) => {
    const rig: Rig = new Rig(reconciler, { delayQueueSize: 2, backoff: () => 100 });
    rig.trigger('a', 'b', 'c');
    expect(rig.told('requeued', 'dropped')).toEqual(['requeued a', 'requeued b', 'dropped c delay_queue_full']);
  });

  test('Q3 should drop every failing id at once, and poll nothing, with a bound of 0', () => {
    const rig: Rig = new Rig((id) => (id === 'p' ? { requeueDelay: 100 } : fails()), { delayQueueSize: 0 });
    rig.trigger('a', 'p', 'b');
    expect(rig.told('dropped')).toEqual(['dropped a delay_queue_full', 'dropped p delay_queue_full', 'dropped b delay_queue_full']);
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  test('Q3 should give a place back when a wake-up is due, consumed or reset', () => {
    const rig: Rig = new Rig((id) => (id < 'm' ? { requeueDelay: 100 } : undefined), { delayQueueSize: 1 });
    rig.trigger('a');
    rig.clock.advance(100);
    rig.trigger('b');
    expect(rig.told('dropped')).toEqual(['dropped b delay_queue_full']);
    rig.trigger('a');
    expect(rig.told('requeued')).toHaveLength(3);
    rig.reset.next();
    rig.trigger('c');
    expect(rig.told('requeued')).toHaveLength(4);
  });

  test('Q3 should not count an id that was dropped while dirty and waits out its embargo', () => {
    const rig: Rig = new Rig(
      (id) => {
        if (id !== 'd') fails();
        rig.trigger('d');
        throw new TerminalError('no');
      },
      { delayQueueSize: 1, backoff: () => 1000 },
    );
    rig.trigger('d', 'a', 'b');
    expect(rig.told('requeued', 'dropped')).toEqual(['dropped d terminal', 'requeued a', 'dropped b delay_queue_full']);
    rig.clock.advance(10);
    expect(rig.told('started').filter((told) => told === 'started d')).toHaveLength(2);
  });

  test('Q3 should let a dirty id that finds the delay queue full start afresh after its embargo', () => {
    const starts: number[] = [];
    const rig: Rig = new Rig(
      (id) => {
        starts.push(rig.clock.now());
        if (starts.length > 1) return;
        rig.trigger(id);
        fails();
      },
      { delayQueueSize: 0 },
    );
    rig.trigger('a');
    rig.clock.advance(100);
    expect(rig.told()).toEqual([
      'enqueued a',
      'started a',
      'merged a',
      'dropped a delay_queue_full',
      'enqueued a',
      'started a',
      'succeeded a',
    ]);
    expect(starts).toEqual([0, 10]);
    expect(rig.left).toEqual(NOTHING_LEFT);
  });
});

describe('Q4: events that cannot be routed', () => {
  const revoked = (): unknown => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    return proxy;
  };
  const unreadable = {
    get id(): string {
      throw new Error('no id');
    },
    get [Symbol.toStringTag](): string {
      throw new Error('no tag');
    },
    toJSON: fails,
  };
  const circular: { id: unknown } = { id: undefined };
  circular.id = circular;

  it.each<[string, unknown]>([
    ['an empty string', ''],
    ['an empty id', { id: '' }],
    ['no id', {}],
    ['a number', 5],
    ['an id that is a number', { id: 5 }],
    ['an id that is an object', { id: {} }],
    ['a String object', { id: new String('a') }],
    ['null', null],
    ['undefined', undefined],
    ['NaN', NaN],
    ['a bigint', 1n],
    ['a symbol', Symbol('a')],
    ['a function', () => 'a'],
    ['an array', ['a']],
    ['a circular object', circular],
    ['an object that cannot be read', unreadable],
    ['a revoked proxy', revoked()],
    ...['stream', 'priority', 'force'].map((field): [string, unknown] => [
      `an unreadable ${field}`,
      Object.defineProperty({ id: 'a' }, field, {
        get: () => {
          throw new Error(`no ${field}`);
        },
      }),
    ]),
  ])('Q4 should reject %s as an invalid id, and live on', (_, event) => {
    const rig: Rig = new Rig(() => undefined);
    rig.events.next(event as Trigger);
    rig.trigger('b');
    const [step] = rig.steps as [Step & { kind: 'rejected' }];
    expect(step).toMatchObject({ kind: 'rejected', reason: 'invalid_id', id: '', worker: -1 });
    expect(step.error).toBeInstanceOf(TypeError);
    expect(step.trigger).toBeDefined();
    expect(rig.told().slice(1)).toEqual(['enqueued b', 'started b', 'succeeded b']);
  });

  it.each([
    [5, /`5` \(number\)/],
    [{ id: 7 }, /`{"id":7}` \(object\)/],
    ['', /`` \(string\)/],
    [undefined, /`undefined`/],
  ])('Q4 should show the odd id %j in the error', (event, shown) => {
    const rig: Rig = new Rig(() => undefined);
    rig.events.next(event as unknown as Trigger);
    expect((rig.steps[0] as { error?: Error }).error?.message).toMatch(shown);
  });

  it.each<[string, (id: string, count: number) => unknown, string]>([
    ['throws', fails, 'hasher_failed'],
    ['answers NaN', () => NaN, 'hasher_failed'],
    ['answers Infinity', () => Infinity, 'hasher_failed'],
    ['answers a fraction', () => 0.5, 'hasher_failed'],
    ['answers workerCount', (_, count) => count, 'hasher_failed'],
    ['answers a string', () => '0', 'hasher_failed'],
    ['answers nothing', () => undefined, 'hasher_failed'],
    ['answers a bigint', () => 0n, 'hasher_failed'],
    ['answers a promise', async () => 0, 'hasher_failed'],
    ['answers -1', () => -1, 'unrouted'],
    ['answers -7', () => -7, 'unrouted'],
  ])('Q4 should reject an event whose hasher %s, and live on', (_, hasher, reason) => {
    const rig: Rig = new Rig(() => undefined, {
      workerCount: 3,
      workerHasher: (id, count) => (id === 'bad' ? hasher(id, count) : 2) as number,
    });
    rig.trigger('bad', 'good');
    expect(rig.steps[0]).toMatchObject({ kind: 'rejected', id: 'bad', reason, worker: -1, trigger: { id: 'bad' } });
    expect('error' in rig.steps[0]!).toBe(reason === 'hasher_failed');
    expect(rig.told().slice(1)).toEqual(['enqueued good', 'started good', 'succeeded good']);
  });

  test('Q4 should hand on what the hasher threw', () => {
    const error = new Error('no hash');
    const rig: Rig = new Rig(() => undefined, {
      workerHasher: () => {
        throw error;
      },
    });
    rig.trigger('a');
    expect((rig.steps[0] as { error?: unknown }).error).toBe(error);
  });

  test('Q4 should take -0 for lane 0', () => {
    const rig: Rig = new Rig(() => undefined, { workerHasher: () => -0 });
    rig.trigger('a');
    expect(Object.is(rig.steps[0]!.worker, 0)).toBe(true);
  });

  it.each(['__proto__', 'constructor', 'hasOwnProperty', 'toString', ' ', '\0', '\ud800', '💥', 'a long one'.repeat(9)])(
    'Q4 should treat %j as an ordinary id',
    (id) => {
      const rig: Rig = new Rig((_, { reason }) => (reason === 'event' ? fails() : reason === 'retry' ? { requeueDelay: 5 } : undefined));
      rig.trigger(id, 'other');
      rig.clock.advance(100);
      const life = ['enqueued', 'started', 'requeued', 'enqueued', 'started', 'requeued', 'enqueued', 'started', 'succeeded'];
      expect(rig.steps.filter((step) => step.id === id).map(({ kind }) => kind)).toEqual(life);
      expect(rig.left).toEqual(NOTHING_LEFT);
    },
  );

  test('Q4 should let a hasher that stops the loop do so', () => {
    const rig: Rig = new Rig(() => undefined, {
      workerHasher: (id) => {
        if (id === 's') rig.stop.next();
        return 0;
      },
    });
    rig.trigger('a', 's', 'b');
    expect(rig.end).toBe('completed');
    expect(rig.told().slice(3)).toEqual(['enqueued s', 'dropped s stopped']);
  });

  test('Q4 should reject in order with the steps around it', () => {
    const told: string[] = [];
    of('a', '', 'b')
      .pipe(reconcile(() => undefined))
      .subscribe((step) => told.push(inWords(step)));
    expect(told).toEqual(['enqueued a', 'started a', 'succeeded a', 'rejected  invalid_id', 'enqueued b', 'started b', 'succeeded b']);
  });
});
