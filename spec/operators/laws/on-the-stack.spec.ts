import { loop, type Reconciler, reconcile, reconcileSettings, whileLeading } from 'kreconciler/operators';
import { BehaviorSubject, concat, EMPTY, finalize, ignoreElements, mergeMap, NEVER, Observable, of, Subject, timer } from 'rxjs';
import { describe, expect, it, test } from 'vitest';
import { checkAccounting } from '../../support/accounting.js';
import { NOTHING_LEFT, Rig } from '../../support/rig.js';

/** The ways in which a loop can be cut short by whoever is on its stack. */
const cuts: [string, (rig: Rig) => void][] = [
  ['reset', ({ reset }) => reset.next()],
  ['stop', ({ stop }) => stop.next()],
  ['unsubscribe', ({ subscription }) => subscription.unsubscribe()],
  [
    'reset and feed',
    ({ reset, events }) => {
      reset.next();
      events.next('next');
    },
  ],
  ['feed', ({ events }) => events.next('next')],
];

/** User code that is called when the outcome of a run is known, and not yet recorded. */
const places: [string, (say: () => void) => Reconciler][] = [
  ['the teardown of a synchronous Observable', (say) => () => of(undefined).pipe(finalize(say))],
  ['the teardown of an Observable', (say) => () => timer(5, Rig.current.clock).pipe(ignoreElements(), finalize(say))],
  [
    'the teardown of an Observable that fails',
    (say) => () =>
      concat(
        timer(5, Rig.current.clock).pipe(ignoreElements()),
        new Observable<never>((subscriber) => subscriber.error(new Error('no'))),
      ).pipe(finalize(say)),
  ],
  [
    'a getter of the answer',
    (say) => () => ({
      get error() {
        say();
        return undefined;
      },
    }),
  ],
  [
    'a getter of the answer of a promise',
    (say) => () =>
      Promise.resolve({
        get error() {
          say();
          return undefined;
        },
      }),
  ],
  [
    'a getter of the last value of an Observable',
    (say) => () =>
      concat(
        timer(5, Rig.current.clock).pipe(ignoreElements()),
        of({
          get error() {
            say();
            return undefined;
          },
        }),
      ),
  ],
  [
    'the getter of a thenable',
    (say) => () =>
      ({
        get then() {
          say();
          return (fulfilled: () => void) => fulfilled();
        },
      }) as unknown as Promise<undefined>,
  ],
  [
    'a getter of the error',
    (say) => () => {
      throw Object.defineProperty(new Error('no'), 'retryDelay', {
        get() {
          say();
          return 50;
        },
      });
    },
  ],
];

describe('A3, A5: outcome known, but not yet recorded', () => {
  for (const [place, reconciler] of places) {
    it.each(cuts)(`A3 should give a run exactly one end though ${place} says: %s`, async (_, cut) => {
      for (const before of ['nothing', 'a synchronous run', 'an asynchronous run']) {
        let said = false;
        const odd = reconciler(() => {
          if (said) return;
          said = true;
          cut(rig);
        });
        const rig: Rig = new Rig((id, context) => {
          if (id === 'odd') return odd(id, context);
          return id === 'before' && before === 'an asynchronous run' ? Promise.resolve() : undefined;
        });
        if (before !== 'nothing') rig.trigger('before');
        rig.trigger('odd', 'behind');
        await rig.clock.pass(300);
        expect(said).toBe(true);
        if (!rig.subscription.closed) {
          rig.trigger('after');
          await rig.clock.pass(300);
          rig.stop.next();
          await rig.clock.pass(300);
          expect(rig.told()).toContain('succeeded after');
        }
        if (cut !== cuts[2]![1]) {
          expect(rig.end).toBe('completed');
          checkAccounting(rig.steps);
          expect(rig.left).toEqual(NOTHING_LEFT);
        } else {
          expect(rig.end).toBeUndefined();
          expect(rig.clock.timers).toBe(0);
        }
      }
    });
  }

  it.each(cuts)('A3 should give a run exactly one end though a backoff says: %s', async (_, cut) => {
    let said = false;
    const rig: Rig = new Rig(
      (id) => {
        if (id === 'odd') throw new Error('no');
      },
      {
        backoff: () => {
          if (!said) cut(rig);
          said = true;
          return 50;
        },
      },
    );
    rig.trigger('odd', 'behind');
    await rig.clock.pass(30);
    if (cut === cuts[0]![1]) expect(rig.told()).toContain('dropped odd stopped');
    rig.stop.next();
    expect(said).toBe(true);
    if (cut === cuts[2]![1]) return;
    expect(rig.end).toBe('completed');
    checkAccounting(rig.steps);
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  it.each(cuts.slice(0, 4))('L2, P3 should not run an id that was cut off by the name of its worker: %s', (_, cut) => {
    const ran: string[] = [];
    const rig: Rig = new Rig((id) => void ran.push(id), {
      workerName: () => {
        if (rig.told().length < 3) cut(rig);
        return 'worker';
      },
    });
    rig.trigger('odd');
    expect(ran).not.toContain(rig.told().includes('dropped odd stopped') || cut === cuts[2]![1] ? 'odd' : 'nobody');
    rig.stop.next();
    if (cut !== cuts[2]![1]) checkAccounting(rig.steps);
  });

  const cutsOff = cuts.filter(([how]) => how !== 'stop' && how !== 'feed');
  it.each(cutsOff.flatMap(([how, cut]) => [1, 3].map((atOnce) => [how, atOnce, cut] as const)))(
    'L2, P3 should not run an id that is cut off by who sees it start while another is ready: %s, %d at once',
    (how, workerConcurrency, cut) => {
      const ran: string[] = [];
      const rig: Rig = new Rig(
        (id) => void ran.push(id),
        { workerConcurrency },
        ({ kind, id }, its) => {
          if (id !== 'odd') return;
          if (kind === 'enqueued') its.trigger('behind');
          if (kind === 'started') cut(its);
        },
      );
      rig.trigger('odd');
      expect(rig.told()).toContain('started odd');
      expect(ran).toEqual(how === 'reset and feed' ? ['next'] : []);
      if (how === 'unsubscribe') return;
      expect(rig.told('dropped').sort()).toEqual(['dropped behind stopped', 'dropped odd stopped']);
      rig.stop.next();
      checkAccounting(rig.steps);
      expect(rig.left).toEqual(NOTHING_LEFT);
    },
  );
});

describe('S1: completed is not finished', () => {
  const holds = (log: string[], ms: number): Observable<never> =>
    new Observable((subscriber) => {
      log.push('acquire');
      const work = timer(ms, Rig.current.clock).subscribe({ complete: () => subscriber.complete() });
      return () => {
        work.unsubscribe();
        log.push('release');
      };
    });

  it.each([
    ['its own id', 'lock'],
    ['another id', 'other'],
  ])('S1 should start the next run of %s only after the teardown of the run before', (_, next) => {
    const log: string[] = [];
    const rig: Rig = new Rig(() => holds(log, 5));
    rig.trigger('lock');
    rig.clock.advance(2);
    rig.trigger(next);
    rig.clock.advance(100);
    expect(log).toEqual(['acquire', 'release', 'acquire', 'release']);
  });

  test('S1 should start nothing of the lane in a teardown that ends the term and feeds the loop', () => {
    const log: string[] = [];
    const rig: Rig = new Rig(
      (id) => {
        log.push(`start ${id}`);
        if (id !== 'lock') return undefined;
        return NEVER.pipe(
          finalize(() => {
            rig.reset.next();
            rig.trigger('other');
            log.push('released');
          }),
        );
      },
      { maxReconcileTime: 15 },
    );
    rig.trigger('lock');
    rig.clock.advance(1000);
    expect(log).toEqual(['start lock', 'released', 'start other']);
  });

  test('B1 should go on though the teardown of an Observable that has ended throws', async () => {
    const { config } = await import('rxjs');
    const reported: unknown[] = [];
    config.onUnhandledError = (error) => reported.push(error);
    const rig: Rig = new Rig((id) =>
      timer(5, rig.clock).pipe(
        ignoreElements(),
        finalize(() => {
          if (id === 'odd') throw new Error('torn');
        }),
      ),
    );
    rig.trigger('odd', 'other');
    rig.clock.advance(100);
    await new Promise((resolve) => setTimeout(resolve, 5));
    config.onUnhandledError = null;
    expect(rig.told('succeeded')).toEqual(['succeeded odd', 'succeeded other']);
    expect(reported).toHaveLength(1);
  });
});

describe('P2: lanes that are born late', () => {
  const settings = (stop: Observable<unknown>) => reconcileSettings({ stop });

  test.each<[string, (stop: Subject<void>, lanes: Subject<string>) => void, boolean]>([
    [
      'at a stop',
      (stop, lanes) => {
        stop.subscribe(() => lanes.next('a'));
        stop.next();
      },
      true,
    ],
    [
      'after a stop',
      (stop, lanes) => {
        stop.next();
        lanes.next('a');
      },
      true,
    ],
  ])('P2 should not begin %s', (_, act) => {
    const ran: string[] = [];
    const stop = new Subject<void>();
    const lanes = new Subject<string>();
    const steps: string[] = [];
    let ended = false;
    NEVER.pipe(
      loop<never>(settings(stop), (events, { lane }) =>
        lanes.pipe(mergeMap((id, worker) => concat(of(id), NEVER).pipe(lane((it) => void ran.push(it), worker)))),
      ),
    ).subscribe({ next: ({ kind }) => steps.push(kind), complete: () => (ended = true) });
    act(stop, lanes);
    lanes.complete();
    expect(ran).toEqual([]);
    expect(ended).toBe(true);
  });

  test('P2 should hear a stop that comes when the source has completed, and no lane is there', () => {
    const ran: string[] = [];
    const stop = new Subject<void>();
    const lanes = new Subject<string>();
    EMPTY.pipe(
      loop<never>(settings(stop), (events, { lane }) =>
        concat(events, lanes).pipe(mergeMap((id, worker) => of(id).pipe(lane((it) => void ran.push(it), worker)))),
      ),
    ).subscribe();
    expect(stop.observed).toBe(true);
    stop.next();
    lanes.next('a');
    expect(ran).toEqual([]);
  });

  test('P3 should let go of the notifiers at the end', () => {
    const stop = new Subject<void>();
    const reset = new Subject<void>();
    of('a')
      .pipe(reconcile(() => undefined, { stop, reset }))
      .subscribe();
    expect([stop.observed, reset.observed]).toEqual([false, false]);
  });
});

describe('P3: nothing starts while it is unsubscribed', () => {
  test('P3 should start no run in another lane for what an abort listener says', () => {
    const ran: string[] = [];
    const rig: Rig = new Rig(
      (id, { signal }) => {
        ran.push(id);
        signal.addEventListener('abort', () => rig.trigger('late', 'again'));
        return id === 'first' ? NEVER : undefined;
      },
      { workerCount: 2, workerHasher: (id) => (id === 'first' ? 0 : 1) },
    );
    rig.trigger('first', 'second');
    rig.subscription.unsubscribe();
    expect(ran).toEqual(['first', 'second']);
    expect(rig.clock.timers).toBe(0);
  });

  test('P3 should start no run for what the teardown of a run or of the source says', () => {
    const ran: string[] = [];
    const source = new Subject<string>();
    const rig: Rig = new Rig(
      (id) => {
        ran.push(id);
        return NEVER.pipe(finalize(() => source.next('late')));
      },
      { workerCount: 2, workerHasher: (id) => (id === 'first' ? 0 : 1) },
      () => undefined,
      new Observable((subscriber) => {
        source.subscribe(subscriber);
        return () => source.next('later');
      }),
    );
    source.next('first');
    source.next('second');
    rig.subscription.unsubscribe();
    expect(ran).toEqual(['first', 'second']);
  });
});

describe('O1: the time of a run is its own', () => {
  test('O1 should not be made shorter by an observer that blocks', async () => {
    const events = new Subject<string>();
    const times: number[] = [];
    const block = (ms: number): void => {
      for (const end = performance.now() + ms; performance.now() < end;);
    };
    const cut = new Promise<void>((resolve) => {
      events
        .pipe(
          reconcile(
            (id, { signal }) => {
              const start = performance.now();
              signal.addEventListener('abort', () => {
                times.push(performance.now() - start);
                resolve();
              });
              return id === 'first' ? Promise.resolve() : new Promise<void>(() => undefined);
            },
            { maxReconcileTime: 300, maxItemRetries: 0 },
          ),
        )
        .subscribe(({ kind, id }) => {
          if (kind === 'succeeded' && id === 'first') block(200);
        });
    });
    events.next('first');
    events.next('second');
    await cut;
    expect(times[0]).toBeGreaterThanOrEqual(298);
  });
});

describe('L3: a leader that changes its mind on the stack', () => {
  test('L3 should not stay subscribed when one that is let go says that it leads', () => {
    const leads = new BehaviorSubject(false);
    let subscriptions = 0;
    let again = true;
    const source = new Observable<string>(() => {
      subscriptions++;
      return () => {
        subscriptions--;
        if (again) leads.next(true);
        again = false;
      };
    });
    source.pipe(whileLeading(leads)).subscribe();
    leads.next(true);
    leads.next(false);
    expect(subscriptions).toBe(1);
    leads.next(false);
    expect(subscriptions).toBe(0);
  });

  test('L3 should follow what is said while the source is subscribed to', () => {
    const leads = new BehaviorSubject(true);
    let subscriptions = 0;
    const source = new Observable<string>((subscriber) => {
      subscriptions++;
      subscriber.add(() => subscriptions--);
      if (leads.value) leads.next(false);
    });
    source.pipe(whileLeading(leads)).subscribe();
    expect(subscriptions).toBe(0);
    leads.next(true);
    expect(subscriptions).toBe(0);
  });
});
