import { constant, type ReconcileConfig, type Reconciler, reconcile, RetryError, type Step, TerminalError } from 'kreconciler/operators';
import { marbles } from 'kreconciler/testing';
import { concat, EMPTY, from, ignoreElements, of, Subject, throwError, timer } from 'rxjs';
import { describe, expect, it, test } from 'vitest';
import { NOTHING_LEFT, Rig } from '../../support/rig.js';

const error = new Error('no');
const fails = (): never => {
  throw error;
};
const attempts = (rig: Rig): number[] => rig.steps.flatMap((step) => (step.kind === 'started' ? step.attempt : []));
/** The step that ends the first run. */
const ended = (rig: Rig): Step | undefined => rig.steps.find(({ kind }) => ['succeeded', 'requeued', 'dropped'].includes(kind));

describe('R1: what a failure is', () => {
  const ways: Record<string, (value: unknown) => Reconciler> = {
    thrown: (value) => () => {
      throw value;
    },
    rejected: (value) => async () => {
      throw value;
    },
    'an Observable error': (value) => () => throwError(() => value),
    'an Observable error after a good value': (value) => () =>
      concat(
        of({ requeueDelay: 50 }),
        throwError(() => value),
      ),
    'thrown by an async iterable': (value) =>
      async function* () {
        yield {};
        throw value;
      },
    'thrown by an iterable': (value) =>
      function* () {
        yield {};
        throw value;
      },
    'given to the callback of a thenable': (value) => () =>
      ({
        then: (_: unknown, reject: (error: unknown) => void) => {
          reject(value);
        },
      }) as PromiseLike<void>,
    'thrown by `then`': (value) => () => ({
      then: () => {
        throw value;
      },
    }),
    'thrown by the getter `then`': (value) => () => ({
      get then(): never {
        throw value;
      },
    }),
  };
  for (const [way, made] of Object.entries(ways)) {
    it.each([error, 'a string', 5, 0, '', false, null, undefined, { cause: 1 }, Symbol('s'), Object.create(null), () => 5])(
      `R1 should take %o ${way} for a failure, and hand it on as it is`,
      async (value) => {
        const rig: Rig = new Rig(made(value));
        rig.trigger('a');
        await rig.clock.pass(0);
        expect(ended(rig)).toMatchObject({ kind: 'requeued', failure: 'thrown', attempt: 1 });
        expect((ended(rig) as { error?: unknown }).error).toBe(value);
      },
    );
  }

  it.each([error, 'a string', 0, '', false, {}])('R1 should take { error: %o } for the same failure, `reported`', (value) => {
    const rig: Rig = new Rig(() => ({ error: value }));
    rig.trigger('a');
    expect(ended(rig)).toMatchObject({ kind: 'requeued', failure: 'reported', attempt: 1 });
    expect((ended(rig) as { error?: unknown }).error).toBe(value);
  });

  it.each([undefined, null])('R1 should take { error: %s } for success', (none) => {
    const rig: Rig = new Rig(() => ({ data: 'x', error: none }));
    rig.trigger('a');
    expect(ended(rig)).toMatchObject({ kind: 'succeeded' });
  });

  test('R1 should let an error win over a requeueDelay beside it, even over an odd one', () => {
    const rig: Rig = new Rig((_, { attempt }) => (attempt === 1 ? { error, requeueDelay: 500 } : { error, requeueDelay: NaN }), {
      maxItemRetries: 1,
    });
    rig.trigger('a');
    rig.clock.advance(100);
    expect(ended(rig)).toMatchObject({ kind: 'requeued', failure: 'reported', delay: 10 });
    expect(rig.steps.at(-1)).toMatchObject({ kind: 'dropped', reason: 'retries', failure: 'reported', error });
  });

  it.each<[string, unknown]>([
    ['a string', 'x'],
    ['the empty string', ''],
    ['a number', 5],
    ['true', true],
    ['false', false],
    ['a symbol', Symbol('x')],
    ['a bigint', 5n],
    ['a function', () => 5],
    ['an Error that is returned', new Error('returned')],
    ['an Observable of a string', of('x')],
    ['a promise of a number', Promise.resolve(5)],
    ['a promise of an Observable', Promise.resolve(of(1))],
    ['an Observable of a promise', of(Promise.resolve())],
    ['an array of an array', [[]]],
    [
      'a result that cannot be read',
      {
        get error(): never {
          throw error;
        },
      },
    ],
    [
      'a promise of a result that cannot be read',
      Promise.resolve({
        get requeueDelay(): never {
          throw error;
        },
      }),
    ],
  ])('R1 should fail a run whose answer is odd: %s', async (_, answer) => {
    const rig: Rig = new Rig(() => answer as undefined);
    rig.trigger('a');
    await rig.clock.pass(0);
    expect(ended(rig)).toMatchObject({ kind: 'requeued', failure: 'invalid' });
    expect((ended(rig) as { error?: unknown }).error).toBeInstanceOf(Error);
  });

  it.each<[string, () => unknown]>([
    ['an Observable', () => from([{ error }, { requeueDelay: NaN }, 'x', { requeueDelay: 20 }])],
    [
      'an async iterable',
      async function* () {
        yield { error };
        yield 'x';
        yield { requeueDelay: 20 };
      },
    ],
    ['an iterable', () => [{ error }, 'x', { requeueDelay: 20 }]],
    ['a Set', () => new Set([{ error }, { requeueDelay: 20 }])],
    [
      'a web stream',
      () =>
        new ReadableStream({
          start: (stream) => {
            stream.enqueue({ error });
            stream.enqueue({ requeueDelay: 20 });
            stream.close();
          },
        }),
    ],
  ])('R1 should count only the last value of %s', async (_, answer) => {
    const rig: Rig = new Rig((_, { reason }) => (reason === 'event' ? (answer() as undefined) : undefined));
    rig.trigger('a');
    await new Promise(setImmediate); // a web stream takes its time
    await rig.clock.pass(0);
    expect(ended(rig)).toMatchObject({ kind: 'requeued', delay: 20 });
    expect(ended(rig)).not.toHaveProperty('failure');
  });

  test('R1 should not let one run see the value of the run before it', () => {
    const answers = [
      of({ requeueDelay: 500 }),
      EMPTY,
      concat(
        of({ error }),
        throwError(() => error),
      ),
      EMPTY,
    ];
    const rig: Rig = new Rig(() => answers.shift());
    rig.trigger('a', 'b', 'c', 'd');
    expect(rig.told('succeeded', 'requeued')).toEqual(['requeued a', 'succeeded b', 'requeued c', 'succeeded d']);
  });

  test('R1 should take a promise and an Observable of nothing for done', async () => {
    const rig: Rig = new Rig((id) => (id === 'a' ? Promise.resolve() : id === 'b' ? EMPTY : Promise.resolve(null as unknown as undefined)));
    rig.trigger('a', 'b', 'c');
    await rig.clock.pass(0);
    expect(rig.told('succeeded')).toEqual(['succeeded a', 'succeeded b', 'succeeded c']);
  });
});

describe('R2: when it is retried', () => {
  const nested = (depth: number, inner: unknown): unknown => {
    let outer = inner;
    for (let i = 0; i < depth; i++) outer = new Error('outer', { cause: outer });
    return outer;
  };
  const circular = new Error('circular');
  circular.cause = circular;

  it.each<[string, unknown, number]>([
    ['of a RetryError', new RetryError('later', 70), 70],
    ['of any error', Object.assign(new Error('later'), { retryDelay: 70 }), 70],
    ['of a plain object', { retryDelay: 70 }, 70],
    [
      'of an object with a getter',
      {
        get retryDelay() {
          return 70;
        },
      },
      70,
    ],
    ['of a cause', nested(3, new RetryError('later', 70)), 70],
    ['of the outermost that has one', Object.assign(nested(2, new RetryError('later', 90)) as object, { retryDelay: 70 }), 70],
    ['of a cause below an odd one', Object.assign(nested(1, new RetryError('later', 70)) as object, { retryDelay: NaN }), 70],
    ['of 0, which means the next tick', new RetryError('soon', 0), 10],
    ['below the resolution', new RetryError('soon', 3), 10],
    ['of nobody: the backoff', error, 40],
    ['of a circular cause: the backoff', circular, 40],
    ['of undefined: the backoff', undefined, 40],
    [
      'of one that cannot be read: the backoff',
      {
        get retryDelay(): never {
          throw error;
        },
      },
      40,
    ],
    [
      'of a revoked proxy: the backoff',
      (() => {
        const { proxy, revoke } = Proxy.revocable({}, {});
        revoke();
        return proxy;
      })(),
      40,
    ],
  ])('R2 should wait for the retryDelay %s', (_, thrown, delay) => {
    for (const reconciler of [
      () => {
        throw thrown;
      },
      () => ({ error: thrown }),
    ] as Reconciler[]) {
      const rig: Rig = new Rig(reconciler, { backoff: constant(40) });
      rig.trigger('a');
      if (thrown === undefined && ended(rig)?.kind === 'succeeded') continue; // { error: undefined }
      expect(ended(rig)).toMatchObject({ kind: 'requeued', delay });
    }
  });

  test('R2 should ask the backoff with the failures in a row and the error', () => {
    const asked: unknown[] = [];
    const rig: Rig = new Rig(fails, {
      maxItemRetries: 3,
      backoff: (...args) => {
        asked.push(args);
        return 10;
      },
    });
    rig.trigger('a');
    rig.clock.advance(100);
    expect(asked).toEqual([
      [1, error],
      [2, error],
      [3, error],
    ]);
  });

  it.each<[string, unknown]>([
    ['a TerminalError', new TerminalError('never')],
    ['a TerminalError as the cause', new Error('outer', { cause: new TerminalError('never') })],
    ['any object with the symbol', { [Symbol.for('kreconciler.terminal')]: true }],
    ['a RetryError that is terminal too', Object.assign(new RetryError('never', 5), { [Symbol.for('kreconciler.terminal')]: true })],
  ])('R2 should drop an id at once for %s', (_, thrown) => {
    for (const reconciler of [
      () => {
        throw thrown;
      },
      () => ({ error: thrown }),
    ] as Reconciler[]) {
      const rig: Rig = new Rig(reconciler, { maxItemRetries: Infinity });
      rig.trigger('a');
      expect(ended(rig)).toMatchObject({ kind: 'dropped', reason: 'terminal', attempt: 1, error: thrown });
      expect(rig.left).toEqual(NOTHING_LEFT);
    }
  });
});

describe('maxItemRetries', () => {
  it.each([
    [0, [0]],
    [1, [0, 10]],
    [3, [0, 10, 20, 30]],
  ])('R4 should run a failing id once and retry it %i times, then drop it', (maxItemRetries, expected) => {
    const rig: Rig = new Rig(fails, { maxItemRetries });
    rig.trigger('a');
    rig.clock.advance(1000);
    expect(rig.starts()).toEqual(expected);
    expect(attempts(rig)).toEqual(expected.map((_, i) => i + 1));
    expect(rig.steps.at(-1)).toMatchObject({ kind: 'dropped', reason: 'retries', attempt: maxItemRetries + 1, failure: 'thrown', error });
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  test('R4 should retry for ever with Infinity', () => {
    const rig: Rig = new Rig(fails, { maxItemRetries: Infinity });
    rig.trigger('a');
    rig.clock.advance(10_000);
    expect(rig.starts()).toHaveLength(1001);
  });
});

describe('R3: success resets the failures', () => {
  test('R3 should give a full budget again after a success', () => {
    const rig: Rig = new Rig(
      () => {
        if (attempts(rig).length % 3 !== 0) fails();
      },
      { maxItemRetries: 2 },
    );
    for (let i = 0; i < 5; i++) {
      rig.trigger('a');
      rig.clock.advance(100);
    }
    expect(attempts(rig)).toEqual([1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3]);
    expect(rig.told('dropped')).toEqual([]);
  });

  test('R3 should never exhaust a budget by polling', () => {
    const rig: Rig = new Rig(() => ({ requeueDelay: 10 }), { maxItemRetries: 0 });
    rig.trigger('a');
    rig.clock.advance(5000);
    expect(rig.starts()).toHaveLength(501);
    expect(new Set(attempts(rig))).toEqual(new Set([1]));
    expect(rig.told('dropped')).toEqual([]);
  });

  test('R3 should count a run that asks for requeueDelay as a success between failures', () => {
    const rig: Rig = new Rig(() => (attempts(rig).length % 2 === 0 ? { requeueDelay: 10 } : fails()), { maxItemRetries: 1 });
    rig.trigger('a');
    rig.clock.advance(1000);
    expect(attempts(rig).slice(0, 6)).toEqual([1, 2, 1, 2, 1, 2]);
    expect(rig.told('dropped')).toEqual([]);
  });

  test('R3 should tell the reason of each run', () => {
    const rig: Rig = new Rig((_, { reason, attempt }) =>
      reason === 'event' && attempt === 1 ? fails() : reason === 'retry' ? { requeueDelay: 20 } : undefined,
    );
    rig.trigger('a');
    rig.clock.advance(100);
    expect(rig.steps.flatMap((step) => (step.kind === 'started' || step.kind === 'enqueued' ? `${step.kind} ${step.reason}` : []))).toEqual(
      ['enqueued event', 'started event', 'enqueued retry', 'started retry', 'enqueued requeue', 'started requeue'],
    );
  });
});

describe('R4: a dropped id is forgotten', () => {
  it.each<[string, ReconcileConfig, unknown]>([
    ['its retries are spent', { maxItemRetries: 0 }, error],
    ['it is terminal', {}, new TerminalError('no')],
    ['the delay queue is full', { delayQueueSize: 0 }, error],
  ])('R4 should let its next event start it afresh, at once, after %s', (_, config, thrown) => {
    const rig: Rig = new Rig(() => {
      throw thrown;
    }, config);
    rig.trigger('a', 'a');
    rig.clock.advance(1);
    rig.trigger('a');
    expect(rig.starts()).toEqual([0, 0, 1]);
    expect(attempts(rig)).toEqual([1, 1, 1]);
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  test('R4 should forget which streams had asked', () => {
    const seen: (readonly string[])[] = [];
    const rig: Rig = new Rig(
      (id, { streams }) => {
        seen.push(streams);
        if (seen.length === 1) rig.events.next({ id, stream: 'files' });
        if (seen.length < 3) fails();
      },
      { maxItemRetries: 0 },
    );
    rig.events.next({ id: 'a', stream: 'resync' });
    rig.clock.advance(20);
    rig.events.next({ id: 'a', stream: 'children' });
    expect(seen).toEqual([['resync'], ['files'], ['children']]);
  });

  test('R4 should forget the streams of a run whose promise was open when it was dropped', async () => {
    const seen: (readonly string[])[] = [];
    const rig: Rig = new Rig(
      (_, { streams }) => {
        seen.push(streams);
        return seen.length === 1 ? new Promise<void>((resolve) => rig.clock.schedule(() => resolve(), 50)) : undefined;
      },
      { maxItemRetries: 0, maxReconcileTime: 5 },
    );
    rig.events.next({ id: 'a', stream: 'resync' });
    await rig.clock.pass(20);
    rig.events.next({ id: 'a', stream: 'files' });
    await rig.clock.pass(100);
    expect(seen).toEqual([['resync'], ['files']]);
  });
});

describe('E1: no sooner than delayResolution after a failure', () => {
  test(
    'E1 should pull a retry forward to the end of the embargo for an event during it',
    marbles(({ hot, scheduler, expectSteps }) => {
      let runs = 0;
      const reconciler: Reconciler = () => (++runs === 1 ? fails() : undefined);
      //                       |    |    |    |    the grid
      const source = hot('     -a-a-----------------|');
      expectSteps(source.pipe(reconcile(reconciler, { scheduler, delayResolution: 5, backoff: constant(19) }))).toBeExactly({
        enqueued: '            -a--------a',
        started: '             -a--------a',
        merged: '              ---a',
        requeued: '            -a',
        succeeded: '           ----------a',
        ends: '                ---------------------|',
      });
    }),
  );

  test(
    'E1 should run it at once for an event after the embargo',
    marbles(({ hot, scheduler, expectSteps }) => {
      let runs = 0;
      const reconciler: Reconciler = () => (++runs === 1 ? fails() : undefined);
      const source = hot('     -a----------a--------|');
      expectSteps(source.pipe(reconcile(reconciler, { scheduler, delayResolution: 5, backoff: constant(19) }))).toBeExactly({
        enqueued: '            -a----------a',
        started: '             -a----------a',
        requeued: '            -a',
        succeeded: '           ------------a',
        ends: '                ---------------------|',
      });
    }),
  );

  test('E1 should tell an early run as one for an event, with the attempt of the retry it stands for', () => {
    const rig: Rig = new Rig(fails, { backoff: constant(100) });
    rig.trigger('a');
    rig.clock.advance(2);
    rig.trigger('a');
    rig.clock.advance(10);
    expect(rig.steps.filter(({ kind }) => kind === 'started')).toMatchObject([
      { attempt: 1, reason: 'event' },
      { attempt: 2, reason: 'event' },
    ]);
  });

  test('E1 should let an early run that fails neither spend the budget nor move the deadline', () => {
    const rig: Rig = new Rig(fails, { backoff: constant(100), maxItemRetries: 1 });
    rig.trigger('a');
    for (let at = 5; at < 90; at += 5) {
      rig.clock.advance(5);
      rig.trigger('a');
    }
    rig.clock.advance(200);
    // Early, every 10 ms; the one at the deadline is the retry that counts.
    expect(rig.starts()).toEqual([0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100]);
    expect(attempts(rig)).toEqual([1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2]);
    expect(rig.steps.at(-1)).toMatchObject({ kind: 'dropped', reason: 'retries', at: 100 });
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  test('E1 should let the retryDelay of an early run move the deadline later', () => {
    const rig: Rig = new Rig(
      () => {
        throw rig.starts().length === 2 ? new RetryError('later', 300) : error;
      },
      { backoff: constant(100), maxItemRetries: 1 },
    );
    rig.trigger('a');
    rig.clock.advance(20);
    rig.trigger('a');
    expect(rig.steps.at(-1)).toMatchObject({ kind: 'requeued', delay: 300 });
    rig.clock.advance(1000);
    expect(rig.starts()).toEqual([0, 20, 320]);
  });

  test('E1 should not let the retryDelay of an early run move the deadline earlier', () => {
    const rig: Rig = new Rig(
      () => {
        throw rig.starts().length === 2 ? new RetryError('soon', 0) : error;
      },
      { backoff: constant(100), maxItemRetries: 1 },
    );
    rig.trigger('a');
    rig.clock.advance(20);
    rig.trigger('a');
    expect(rig.steps.at(-1)).toMatchObject({ kind: 'requeued', delay: 80 });
    rig.clock.advance(1000);
    expect(rig.starts()).toEqual([0, 20, 100]);
  });

  test('E1 should hold for an early run that fails so late that the deadline would come too soon', () => {
    const rig: Rig = new Rig(
      () =>
        rig.starts().length === 2
          ? timer(75, rig.clock).pipe(ignoreElements(), (run) =>
              concat(
                run,
                throwError(() => error),
              ),
            )
          : fails(),
      { backoff: constant(100), maxItemRetries: 1 },
    );
    rig.trigger('a');
    rig.clock.advance(20);
    rig.trigger('a'); // runs from 20 to 95; the deadline was 100
    rig.clock.advance(1000);
    expect(rig.starts()).toEqual([0, 20, 110]);
  });

  test('E1 should hold for an early run that goes on beyond its deadline', () => {
    const rig: Rig = new Rig(
      () =>
        rig.starts().length === 2
          ? timer(155, rig.clock).pipe(ignoreElements(), (run) =>
              concat(
                run,
                throwError(() => error),
              ),
            )
          : fails(),
      { backoff: constant(100), maxItemRetries: 1 },
    );
    rig.trigger('a');
    rig.clock.advance(20);
    rig.trigger('a'); // runs from 20 to 175
    rig.clock.advance(1000);
    expect(rig.starts()).toEqual([0, 20, 190]);
    expect(attempts(rig)).toEqual([1, 2, 2]);
  });

  test('E1 should hold for an id that failed while dirty', () => {
    const rig: Rig = new Rig(
      () => {
        if (rig.starts().length === 1) rig.trigger('a');
        fails();
      },
      { backoff: constant(100), maxItemRetries: 1 },
    );
    rig.clock.advance(3);
    rig.trigger('a');
    expect(rig.steps.at(-1)).toMatchObject({ kind: 'requeued', delay: 10 });
    rig.clock.advance(1000);
    // The run at 20 is the mark's, and early; the one at 110 is the retry.
    expect(rig.starts()).toEqual([3, 20, 110]);
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  test('E1 should hold for an id that was dropped while dirty, which then starts afresh', () => {
    const rig: Rig = new Rig(
      () => {
        if (rig.starts().length === 1) rig.trigger('a');
        fails();
      },
      { maxItemRetries: 0 },
    );
    rig.trigger('a');
    rig.trigger('a', 'a');
    rig.clock.advance(9);
    rig.trigger('a');
    expect(rig.starts()).toEqual([0]);
    rig.clock.advance(100);
    expect(rig.starts()).toEqual([0, 10]);
    expect(attempts(rig)).toEqual([1, 1]);
    expect(rig.told()).toEqual([
      'enqueued a',
      'started a',
      'merged a',
      'dropped a retries',
      'merged a',
      'merged a',
      'merged a',
      'enqueued a',
      'started a',
      'dropped a retries',
    ]);
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  test('E1 should give a place to an early run only if the queue has one, and keep its wake-up', () => {
    const gate = new Subject<undefined>();
    const rig: Rig = new Rig((id) => (id === 'r' && rig.starts('r').length === 1 ? fails() : id === 'g' ? gate : undefined), {
      workerQueueSize: 1,
      backoff: constant(50),
    });
    rig.trigger('r');
    rig.clock.advance(20);
    rig.trigger('g', 'x', 'r');
    expect(rig.told('rejected')).toEqual(['rejected r full']);
    rig.clock.advance(20);
    gate.complete();
    rig.clock.advance(100);
    expect(rig.starts('r')).toEqual([0, 50]);
  });

  test('E1 should spend the budget for a run that an event and the deadline ask for at once', () => {
    // The deadline is the end of the embargo: an event during it changes nothing.
    const rig: Rig = new Rig(fails, { backoff: constant(10), maxItemRetries: 2 });
    rig.trigger('a');
    for (let i = 0; i < 5; i++) {
      rig.clock.advance(5);
      rig.trigger('a');
    }
    rig.clock.advance(100);
    expect(rig.starts().slice(0, 3)).toEqual([0, 10, 20]);
    expect(attempts(rig).slice(0, 3)).toEqual([1, 2, 3]);
  });
});
