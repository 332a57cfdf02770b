/* eslint-disable @typescript-eslint/only-throw-error, rxjs-x/no-redundant-notify -- bad manners are what is tested */
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { runInNewContext } from 'node:vm';
import { type Reconciler, reconcile, type Step, whileLeading } from 'kreconciler/operators';
import type * as rxjs from 'rxjs';
import { defer, Observable, of, Subject, throwError } from 'rxjs';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { checkAccounting } from '../../support/accounting.js';
import { inWords, NOTHING_LEFT, Rig } from '../../support/rig.js';

describe('B1: no id can end the loop', () => {
  const nasty: Record<string, Reconciler> = {
    'throws nothing': () => {
      throw undefined;
    },
    'throws a revoked proxy': () => {
      const { proxy, revoke } = Proxy.revocable({}, {});
      revoke();
      throw proxy;
    },
    'returns a revoked proxy': () => {
      const { proxy, revoke } = Proxy.revocable({}, {});
      revoke();
      return proxy;
    },
    'returns an object that hates being read': () =>
      new Proxy(
        {},
        {
          get: () => {
            throw new Error('no');
          },
          has: () => {
            throw new Error('no');
          },
        },
      ),
    'returns a thenable that never calls back': () => ({ then: () => undefined }) as unknown as PromiseLike<void>,
    'returns a thenable that calls back twice': () =>
      ({
        then: (done: (value?: undefined) => void, fail: (error: unknown) => void) => {
          done();
          done();
          fail(new Error('no'));
        },
      }) as unknown as PromiseLike<void>,
    'returns a promise whose own `then` calls back twice': () =>
      Object.assign(Promise.resolve(), {
        then: (done: (value: unknown) => void) => {
          setImmediate(() => {
            done(undefined);
            done(undefined);
          });
        },
      }),
    'returns an Observable that errors after completing': () =>
      new Observable((subscriber) => {
        subscriber.complete();
        subscriber.error(new Error('no'));
        subscriber.next(undefined);
      }),
    'returns an Observable whose subscribe throws': () =>
      new Observable(() => {
        throw new Error('no');
      }),
    'returns an Observable that tears down badly': () =>
      new Observable((subscriber) => {
        subscriber.complete();
        return () => {
          throw new Error('no');
        };
      }),
    'returns an interop Observable without a subscribe': () => ({ '@@observable': () => ({}) }) as unknown as Observable<undefined>,
    'returns an iterator that throws': () => ({
      [Symbol.iterator]: () => {
        throw new Error('no');
      },
    }),
    'returns an async iterator that is none': () => ({ [Symbol.asyncIterator]: () => 5 }) as unknown as AsyncIterable<undefined>,
    'returns an async iterator that throws at once': () => ({
      [Symbol.asyncIterator]: () => {
        throw new Error('no');
      },
    }),
    'returns an error whose cause is itself': () => {
      const error = new Error('no');
      error.cause = error;
      return { error };
    },
    'returns a result whose requeueDelay cannot be shown': () => ({
      requeueDelay: {
        toJSON: () => {
          throw new Error('no');
        },
        get [Symbol.toStringTag](): never {
          throw new Error('no');
        },
      } as unknown as number,
    }),
    'freezes its context and writes to it': (_, context) => {
      Object.freeze(context);
      (context as { attempt: number }).attempt = 7;
    },
  };

  it.each(Object.entries(nasty))('B1 should live on after a reconciler that %s', async (_, reconciler) => {
    const rig: Rig = new Rig((id, context) => (id === 'bad' ? reconciler(id, context) : undefined), {
      maxItemRetries: 1,
      maxReconcileTime: 50,
    });
    rig.trigger('bad', 'good');
    for (let i = 0; i < 5; i++) {
      await new Promise(setImmediate);
      await rig.clock.pass(50);
    }
    expect(rig.told('succeeded')).toContain('succeeded good');
    rig.trigger('fine');
    await rig.clock.pass(100);
    expect(rig.told('succeeded')).toContain('succeeded fine');
    expect(rig.end).toBeUndefined();
    checkAccounting(rig.steps, undefined, false);
  });

  test('B1 should live on after a workerName that throws', () => {
    let bad = true;
    const workerName = (): string => {
      if (bad) throw new Error('no');
      return 'good';
    };
    const rig: Rig = new Rig(() => undefined, { workerName, maxItemRetries: 0 });
    rig.trigger('a');
    bad = false;
    rig.trigger('b');
    expect(rig.told('dropped', 'succeeded')).toEqual(['dropped a retries', 'succeeded b']);
  });

  test('B1 should live on after an observer that throws', async () => {
    const { config } = await import('rxjs');
    const reported: unknown[] = [];
    config.onUnhandledError = (error) => reported.push(error);
    const rig: Rig = new Rig(
      () => undefined,
      {},
      ({ id }) => {
        if (id === 'bad') throw new Error('observer');
      },
    );
    rig.trigger('bad', 'good');
    expect(rig.told('succeeded')).toEqual(['succeeded bad', 'succeeded good']);
    await new Promise((resolve) => setTimeout(resolve));
    expect(reported).toHaveLength(3);
    config.onUnhandledError = null;
  });
});

describe('B2: synchronous and deep', () => {
  const DEEP = 100_000;
  const answers: [string, () => ReturnType<Reconciler>][] = [
    ['nothing', () => undefined],
    ['an Observable', () => of(undefined)],
    ['an error', () => ({ error: 'no' })],
  ];

  it.each(answers)('B2 should run 100,000 ids that were queued at once without overflow, when each answers %s', (_, answer) => {
    let runs = 0;
    const events = new Subject<string>();
    events
      .pipe(
        reconcile(
          () => {
            if (runs++ === 0) for (let i = 0; i < DEEP; i++) events.next(`${i}`);
            return answer();
          },
          { workerQueueSize: Infinity, maxItemRetries: 0 },
        ),
      )
      .subscribe();
    events.next('first');
    expect(runs).toBe(DEEP + 1);
  });

  it.each(answers)('B2 should let a reconciler trigger the next id, 100,000 times, when each answers %s', (_, answer) => {
    let runs = 0;
    const events = new Subject<string>();
    events
      .pipe(
        reconcile(
          () => {
            if (++runs < DEEP) events.next(`${runs}`);
            return answer();
          },
          { maxItemRetries: 0 },
        ),
      )
      .subscribe();
    events.next('0');
    expect(runs).toBe(DEEP);
  });

  test('B2 should let an observer trigger the next id, 100,000 times', () => {
    let runs = 0;
    const events = new Subject<string>();
    events
      .pipe(
        reconcile(() => {
          runs++;
        }),
      )
      .subscribe(({ kind }) => {
        if (kind === 'succeeded' && runs < DEEP) events.next('a');
      });
    events.next('a');
    expect(runs).toBe(DEEP);
  });

  test('B2 should not overflow when a run ends another by synchronous means', () => {
    const gates: Subject<undefined>[] = [];
    let runs = 0;
    const events = new Subject<string>();
    events
      .pipe(
        reconcile(
          (id) => {
            runs++;
            if (id !== 'gate') return gates.pop()?.complete();
            const gate = new Subject<undefined>();
            gates.push(gate);
            return gate;
          },
          { workerCount: 2, workerHasher: (id) => (id === 'gate' ? 0 : 1) },
        ),
      )
      .subscribe(({ kind, id }) => {
        if (runs < 50_000 && kind === 'started' && id === 'gate') events.next('open');
        if (runs < 50_000 && kind === 'succeeded' && id === 'gate') events.next('gate');
      });
    events.next('gate');
    expect(runs).toBe(50_000);
  });
});

describe('B3: nothing is left behind', () => {
  test('B3 should return to zero after every kind of end', () => {
    const rig: Rig = new Rig(
      (id, { attempt }) => {
        if (id.startsWith('f') && attempt < 3) throw new Error('no');
        if (id.startsWith('d')) return { error: 'no' };
        if (id.startsWith('p') && rig.starts(id).length < 5) return { requeueDelay: 10 };
        return;
      },
      { maxItemRetries: 2, delayQueueSize: 100 },
    );
    for (let i = 0; i < 50; i++) rig.trigger(`f${i}`, `d${i}`, `p${i}`, `o${i}`);
    rig.clock.advance(1000);
    expect(rig.left).toEqual(NOTHING_LEFT);
  });
});

describe('B4: each subscription is a loop of its own', () => {
  test('B4 should share nothing between two subscriptions', () => {
    const told: string[][] = [[], []];
    const failedOnce = new Set<string>();
    const steps = of('a', 'a', 'b').pipe(
      reconcile(
        (id) => {
          if (failedOnce.has(id)) return;
          failedOnce.add(id);
          throw new Error('no');
        },
        { maxItemRetries: 0, workerQueueSize: 1 },
      ),
    );
    for (const to of told) steps.subscribe((step) => to.push(inWords(step)));
    expect(told[0]).toEqual([
      'enqueued a',
      'started a',
      'dropped a retries',
      'enqueued a',
      'started a',
      'succeeded a',
      'enqueued b',
      'started b',
      'dropped b retries',
    ]);
    expect(told[1]).toEqual([
      'enqueued a',
      'started a',
      'succeeded a',
      'enqueued a',
      'started a',
      'succeeded a',
      'enqueued b',
      'started b',
      'succeeded b',
    ]);
  });

  test('B4 should subscribe to a promise-like stop for each', () => {
    let subscriptions = 0;
    const stop = defer(() => {
      subscriptions++;
      return of(1);
    });
    const steps = of('a').pipe(reconcile(() => undefined, { stop }));
    steps.subscribe();
    steps.subscribe();
    expect(subscriptions).toBe(2);
  });
});

describe('F1: answers that are not understood', () => {
  const answers: [string, () => unknown][] = [
    ['an Error of another realm', (): unknown => runInNewContext('new Error("disk full")')],
    ['a class instance', () => new AbortController()],
    ['an empty Map', () => new Map()],
    ['empty Headers', () => new Headers()],
    ['an empty form', () => new FormData()],
    ['an empty query', () => new URLSearchParams()],
    ['an empty Buffer', () => Buffer.from('')],
    ['a boxed string', () => new String('')],
    ['a Date', () => new Date()],
    ['a function', () => () => undefined],
  ];
  it.each(answers)('F1 should never take %s for success', async (_, answer) => {
    for (const given of [answer, async () => answer(), () => of(answer())]) {
      const rig: Rig = new Rig(given as Reconciler, { maxItemRetries: 0 });
      rig.trigger('odd');
      await rig.clock.pass(0);
      expect(rig.steps.at(-1)).toMatchObject({ kind: 'dropped', failure: 'invalid' });
    }
  });
});

describe('F1: two copies of rxjs, and `Symbol.observable` defined between them', () => {
  const require = createRequire(import.meta.url);
  const path = require.resolve(join(dirname(require.resolve('rxjs/package.json')), 'dist/bundles/rxjs.umd.js'));
  const side = Symbol('observable');
  Object.defineProperty(Symbol, 'observable', { value: side, configurable: true });
  Reflect.deleteProperty(require.cache, path);
  const later = require(path) as typeof rxjs;
  Reflect.deleteProperty(require.cache, path);

  beforeAll(() => {
    Object.defineProperty(Symbol, 'observable', { value: side, configurable: true });
  });
  afterAll(() => {
    Reflect.deleteProperty(Symbol, 'observable');
  });
  Reflect.deleteProperty(Symbol, 'observable');

  test('F1 should run what is answered, and be stopped, reset and fed', () => {
    expect(side in later.NEVER).toBe(true);
    expect(side in of(1)).toBe(false);
    let torn = 0;
    const stop = new later.Subject<void>();
    const reset = new later.Subject<void>();
    const events = new later.Subject<string>();
    const told: string[] = [];
    const answers: Record<string, () => rxjs.Observable<undefined>> = {
      fails: () => later.throwError(() => new Error('no')),
      hangs: () => new later.Observable(() => () => torn++),
      ends: () => later.of(undefined),
    };
    events
      .pipe(
        whileLeading(new later.BehaviorSubject(true)),
        reconcile((id) => answers[id]?.(), { maxItemRetries: 0, stop, reset }),
      )
      .subscribe((step: Step) => told.push(inWords(step)));
    for (const id of ['fails', 'ends', 'hangs']) events.next(id);
    reset.next();
    expect(torn).toBe(1);
    stop.next();
    expect(told.filter((step) => !/enqueued|started/.test(step))).toEqual([
      'dropped fails retries',
      'succeeded ends',
      'dropped hangs stopped',
    ]);
    expect(events.observed).toBe(false);
  });

  test('F1 should run one though the symbol is gone', () => {
    Reflect.deleteProperty(Symbol, 'observable');
    const rig: Rig = new Rig(() => later.throwError(() => new Error('no')), { maxItemRetries: 0 });
    rig.trigger('fails');
    expect(rig.told('dropped')).toEqual(['dropped fails retries']);
  });
});

describe('B5: Observables of another copy of rxjs', () => {
  const require = createRequire(import.meta.url);
  const other = require(join(dirname(require.resolve('rxjs/package.json')), 'dist/bundles/rxjs.umd.js')) as typeof rxjs;

  test('B5 should test with a copy that is another', () => {
    expect(other.of(1)).not.toBeInstanceOf(Observable);
  });

  test('B5 should take them as source, as notifiers and from reconcilers', () => {
    const told: string[] = [];
    const stop = new other.Subject<void>();
    const reset = new other.Subject<void>();
    const events = new other.Subject<string>();
    let ended = false;
    events
      .pipe(other.map((id: string) => id))
      .pipe(
        reconcile(
          (id) => (id === 'n' ? other.NEVER : id === 'e' ? other.throwError(() => new Error('no')) : other.of({ requeueDelay: 1e6 })),
          { stop, reset, maxItemRetries: 0, shutdownGrace: 0 },
        ),
      )
      .subscribe({ next: (step: Step) => told.push(inWords(step)), complete: () => (ended = true) });
    events.next('a');
    events.next('e');
    events.next('n');
    reset.next();
    events.next('b');
    stop.next();
    expect(told.filter((step) => !/enqueued|started/.test(step))).toEqual([
      'requeued a',
      'dropped e retries',
      'dropped a stopped',
      'dropped n stopped',
      'requeued b',
      'dropped b stopped',
    ]);
    expect(ended).toBe(true);
    expect(events.observed).toBe(false);
  });

  test('B5 should unsubscribe one of a run that is over time', () => {
    let torn = false;
    const rig: Rig = new Rig(() => new other.Observable<undefined>(() => () => (torn = true)), { maxReconcileTime: 15, maxItemRetries: 0 });
    rig.trigger('a');
    rig.clock.advance(20);
    expect(torn).toBe(true);
    expect(rig.told()).toEqual(['enqueued a', 'started a', 'dropped a retries']);
  });

  test('B5 should take them in whileLeading', () => {
    const seen: string[] = [];
    other
      .of('a')
      .pipe(whileLeading(other.of(false, true)))
      .subscribe((id) => seen.push(id));
    expect(seen).toEqual(['a']);
  });

  test('B5 should take an Observable that is known by nothing but its interop method', () => {
    const interop = {
      [(Symbol as { observable?: symbol }).observable ?? '@@observable']: () => throwError(() => new Error('no')),
    } as unknown as Observable<undefined>;
    const rig: Rig = new Rig(() => interop, { maxItemRetries: 0 });
    rig.trigger('a');
    expect(rig.told('dropped')).toEqual(['dropped a retries']);
  });
});
