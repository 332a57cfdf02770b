import fc from 'fast-check';
import {
  concat,
  EMPTY,
  finalize,
  from,
  lastValueFrom,
  map,
  mergeMap,
  NEVER,
  type Observable,
  Subject,
  type Subscription,
  throwError,
  timer,
  toArray,
  VirtualTimeScheduler,
} from 'rxjs';
import { describe, expect, it, vi } from 'vitest';
import { acknowledge, type AcknowledgeConfig, type Logger, noopLogger, reconcile, type Result, type Step, type Trigger } from 'kreconciler';
import { marbles } from 'kreconciler/testing';
import { Clock } from '../support/clock.js';
import { logged } from '../support/logged.js';

/** An acknowledger that keeps what it has told the broker: `ack m1`, `nack m2 after 5000`. */
function broker(config: Partial<AcknowledgeConfig<string>> = {}) {
  const told: string[] = [];
  const operator = acknowledge<string>({
    ack: (message) => told.push(`ack ${message}`),
    nack: (message, delay) => told.push(`nack ${message} after ${delay}`),
    ...config,
  });
  return { told, operator };
}

const at = { worker: 0, at: 0 };
const run = { attempt: 1, took: 1 };

/** Steps of the id `a`, as short as they can be said. */
const step = {
  enqueued: (message?: string): Step => ({
    kind: 'enqueued',
    id: 'a',
    ...at,
    reason: 'event',
    ...(message && { trigger: { id: 'a', message } }),
  }),
  merged: (message?: string): Step => ({ kind: 'merged', id: 'a', ...at, ...(message && { trigger: { id: 'a', message } }) }),
  full: (message: string): Step => ({ kind: 'rejected', id: 'a', ...at, reason: 'full', trigger: { id: 'a', message } }),
  started: { kind: 'started', id: 'a', ...at, attempt: 1, reason: 'event', streams: [], waited: 0 } as Step,
  succeeded: { kind: 'succeeded', id: 'a', ...at, ...run } as Step,
  polls: { kind: 'requeued', id: 'a', ...at, ...run, delay: 5 } as Step,
  failed: { kind: 'requeued', id: 'a', ...at, ...run, delay: 5, failure: 'thrown', error: 0 } as Step,
  exhausted: { kind: 'dropped', id: 'a', ...at, ...run, reason: 'retries', failure: 'thrown', error: 0 } as Step,
  unqueued: { kind: 'dropped', id: 'a', ...at, ...run, reason: 'delay_queue_full' } as Step,
  stopped: { kind: 'dropped', id: 'a', ...at, attempt: 1, reason: 'stopped' } as Step,
  cutOff: { kind: 'dropped', id: 'a', ...at, ...run, reason: 'stopped' } as Step,
};
const { enqueued, merged, full, started, succeeded, polls, failed, exhausted, unqueued, stopped, cutOff } = step;

describe('acknowledge', () => {
  it.each<[law: string, steps: Step[], told: string[]]>([
    ['ack when the run that started after it has succeeded', [enqueued('m'), started, succeeded], ['ack m']],
    ['count a run that asks for requeueDelay as a success', [enqueued('m'), started, polls], ['ack m']],
    ['ack all that were merged before the run started', [enqueued('m'), merged('n'), started, succeeded], ['ack m', 'ack n']],
    ['let one merged into a running id wait', [enqueued('m'), started, merged('n'), succeeded], ['ack m']],
    ['ack it after the next run', [enqueued('m'), started, merged('n'), succeeded, enqueued(), started, succeeded], ['ack m', 'ack n']],
    ['wait for the retry of a run that failed', [enqueued('m'), started, failed], []],
    ['ack after that retry', [enqueued('m'), started, failed, enqueued(), started, succeeded], ['ack m']],
    ['ack with it what came in between', [enqueued('m'), started, failed, merged('n'), enqueued(), started, succeeded], ['ack m', 'ack n']],
    ['nack what is rejected, and nothing else', [enqueued('m'), started, failed, full('n')], ['nack n after 5000']],
    ['nack when the id is dropped', [enqueued('m'), started, exhausted], ['nack m after 5000']],
    [
      'keep what came during the run that was dropped',
      [enqueued('m'), started, merged('n'), exhausted, enqueued(), started, succeeded],
      ['nack m after 5000', 'ack n'],
    ],
    ['nack when the requeue that a run asked for is refused', [enqueued('m'), started, unqueued], ['nack m after 5000']],
    ['nack at once what is dropped while it waits, because the loop stops', [enqueued('m'), stopped], ['nack m after 0']],
    [
      'nack the failed and the new alike then',
      [enqueued('m'), started, failed, merged('n'), stopped],
      ['nack m after 0', 'nack n after 0'],
    ],
    [
      'nack each of a dirty id that is cut off once',
      [enqueued('m'), started, merged('n'), cutOff, enqueued(), stopped],
      ['nack m after 0', 'nack n after 0'],
    ],
    ['say nothing of events without a message', [enqueued(), merged(), started, succeeded], []],
    ['say nothing twice', [enqueued('m'), started, succeeded, started, succeeded, exhausted], ['ack m']],
    ['answer a message that comes twice once', [enqueued('m'), merged('m'), started, succeeded], ['ack m']],
  ])('should %s', (_, steps, expected) => {
    const { told, operator } = broker();
    const passed: Step[] = [];
    from(steps)
      .pipe(operator)
      .subscribe((step) => passed.push(step));
    expect(told).toEqual(expected);
    expect(passed).toEqual(steps);
  });

  it('should ack a message for several ids when the last of them is done', () => {
    const { told, operator } = broker();
    const steps = new Subject<Step>();
    steps.pipe(operator).subscribe();
    const of = (id: string, ...some: Step[]) => some.forEach((one) => steps.next({ ...one, id }));
    of('a', enqueued('m'));
    of('b', enqueued('m'));
    of('a', started, succeeded);
    expect(told).toEqual([]);
    of('b', started, succeeded);
    expect(told).toEqual(['ack m']);
  });

  it('should nack a message for several ids once, when the first of them is dropped', () => {
    const { told, operator } = broker();
    const steps = new Subject<Step>();
    steps.pipe(operator).subscribe();
    const of = (id: string, ...some: Step[]) => some.forEach((one) => steps.next({ ...one, id }));
    of('a', enqueued('m'));
    of('b', enqueued('m'));
    of('c', enqueued('m'));
    of('a', started, exhausted);
    of('b', started, succeeded);
    of('c', started, exhausted);
    expect(told).toEqual(['nack m after 5000']);
  });

  it.each<[how: string, messages: [string, string]]>([
    ['each by itself', ['first', 'second']],
    ['also if it is a primitive', ['same', 'same']],
  ])('should answer a message once that says into how many triggers it was split, whenever they come: %s', (_, [first, second]) => {
    const { told, operator } = broker();
    const steps = new Subject<Step>();
    steps.pipe(operator).subscribe();
    const part = (id: string, of: Step, message: string) => steps.next({ ...of, id, trigger: { id, message, parts: 2 } });
    const of = (id: string, ...some: Step[]) => some.forEach((one) => steps.next({ ...one, id }));
    part('apple', full(first), first);
    expect(told).toEqual([`nack ${first} after 5000`]);
    part('pear', enqueued(), first);
    of('pear', started, succeeded);
    expect(told).toEqual([`nack ${first} after 5000`]);

    part('apple', enqueued(), second);
    of('apple', started, succeeded);
    expect(told).toHaveLength(1);
    part('pear', enqueued(), second);
    of('pear', started, succeeded);
    expect(told).toEqual([`nack ${first} after 5000`, `ack ${second}`]);
  });

  it('should ack a split message on a loop whose reconciler is synchronous', () => {
    const { told, operator } = broker();
    from(['apple', 'pear'])
      .pipe(
        map((id): Trigger => ({ id, message: 'both', parts: 2 })),
        reconcile(() => undefined),
        operator,
      )
      .subscribe();
    expect(told).toEqual(['ack both']);
  });

  it.each<[law: string, end: Step[], told: string[]]>([
    ['ack', [started, succeeded], ['ack last', 'ack first', 'ack middle']],
    ['nack', [started, exhausted], ['nack last after 5000', 'nack first after 5000', 'nack middle after 5000']],
  ])('should %s the messages of the triggers that a trigger has absorbed, and of those that these have', (_, end, expected) => {
    const { told, operator } = broker();
    const middle = { id: 'a', message: 'middle' };
    const trigger = { id: 'a', message: 'last', absorbed: [{ id: 'a', message: 'first', absorbed: [middle] }, { id: 'a' }] };
    from([{ ...enqueued(), trigger }, ...end])
      .pipe(operator)
      .subscribe();
    expect(told).toEqual(expected);
  });

  it('should nack all that a rejected trigger has absorbed', () => {
    const { told, operator } = broker();
    const trigger = { id: 'a', message: 'last', absorbed: [{ id: 'a', message: 'first' }] };
    from([{ ...full('last'), trigger }])
      .pipe(operator)
      .subscribe();
    expect(told).toEqual(['nack last after 5000', 'nack first after 5000']);
  });

  it.each<[Step, number]>([
    [{ ...full('m'), reason: 'not_owned' } as Step, 1_000],
    [{ ...full('m'), reason: 'paused' } as Step, 5_000],
    [{ ...stopped, reason: 'moved', trigger: { id: 'a', message: 'm' } } as Step, 0],
    [{ ...stopped, reason: 'discarded', trigger: { id: 'a', message: 'm' } } as Step, 5_000],
  ])('should give back what was $reason after a fitting time', (step, delay) => {
    const { told, operator } = broker();
    from([step]).pipe(operator).subscribe();
    expect(told).toEqual([`nack m after ${delay}`]);
  });

  it('should keep the message of a run that was superseded for the next run', () => {
    const { told, operator } = broker();
    const superseded = { ...failed, failure: 'superseded' } as Step;
    from([enqueued('m'), started, merged('n'), superseded, enqueued(), started, succeeded])
      .pipe(operator)
      .subscribe();
    expect(told).toEqual(['ack m', 'ack n']);
  });

  it('should give up an answer that never settles after its timeout, log it, and complete', () => {
    const clock = new Clock();
    const { logger, lines } = logged();
    const { operator } = broker({ ack: () => new Promise(() => undefined), timeout: 2_000, scheduler: clock, observability: { logger } });
    let completed = false;
    from([enqueued('m'), started, succeeded])
      .pipe(operator)
      .subscribe({ complete: () => (completed = true) });
    clock.advance(1_999);
    expect(completed).toBe(false);
    clock.advance(1);
    expect(completed).toBe(true);
    const error = new Error('The broker has not answered for 2000 ms');
    expect(lines).toEqual([['error', 'ack failed, the broker will deliver again', { id: 'a', error }]]);
    expect(clock.timers).toBe(0);
  });

  describe('working', () => {
    it('should be called every so often for each message whose id is in flight, and no longer', () => {
      const clock = new Clock();
      const extended: string[] = [];
      const { operator } = broker({ working: (message) => extended.push(message), workingEvery: 1_000, scheduler: clock });
      const steps = new Subject<Step>();
      steps.pipe(operator).subscribe();
      const passes = (ms: number, ...some: Step[]): string[] => {
        for (const one of some) steps.next(one);
        clock.advance(ms);
        return extended.splice(0);
      };
      expect(clock.timers).toBe(0);
      expect(passes(999, enqueued('m'))).toEqual([]);
      expect(passes(1)).toEqual(['m']);
      expect(passes(1_000, started, merged('n'))).toEqual(['m', 'n']);
      expect(passes(2_000, failed)).toEqual(['m', 'n', 'm', 'n']);
      expect(passes(1_000, enqueued(), started, merged('o'), succeeded)).toEqual(['o']);
      expect(passes(1_000, enqueued(), started, succeeded)).toEqual([]);
      expect(clock.timers).toBe(0);
    });

    it('should not be called for a message that was given back, though another of its ids goes on', () => {
      const clock = new Clock();
      const working = vi.fn();
      const { operator } = broker({ working, workingEvery: 1_000, scheduler: clock });
      const trigger = { id: 'a', message: 'm', parts: 2 };
      const steps = concat(
        from([
          { ...full('m'), id: 'b', trigger },
          { ...enqueued(), trigger },
        ] as Step[]),
        NEVER,
      );
      steps.pipe(operator).subscribe();
      clock.advance(10_000);
      expect(working).not.toHaveBeenCalled();
    });

    it.each<[how: string, working: () => unknown]>([
      [
        'throws',
        () => {
          throw new Error('no');
        },
      ],
      ['errors', () => throwError(() => new Error('no'))],
    ])('should be logged where it %s, and called again', (_, working) => {
      const clock = new Clock();
      const { logger, lines } = logged();
      const { told, operator } = broker({ working, workingEvery: 1_000, scheduler: clock, observability: { logger } });
      const steps = new Subject<Step>();
      steps.pipe(operator).subscribe();
      steps.next(enqueued('m'));
      clock.advance(2_000);
      const line = ['error', 'working failed, the broker may deliver again what is in flight', { error: new Error('no') }];
      expect(lines).toEqual([line, line]);
      steps.next(started);
      steps.next(succeeded);
      expect(told).toEqual(['ack m']);
    });

    it.each<[how: string, end: (steps: Subject<Step>, subscription: Subscription) => void]>([
      [
        'complete',
        (steps) => {
          steps.complete();
        },
      ],
      [
        'error',
        (steps) => {
          steps.error(new Error('no'));
        },
      ],
      [
        'are let go',
        (_, subscription) => {
          subscription.unsubscribe();
        },
      ],
    ])('should keep no timer once the steps %s', (_, end) => {
      const clock = new Clock();
      const steps = new Subject<Step>();
      const finished = vi.fn();
      const { operator } = broker({ working: () => undefined, scheduler: clock });
      const subscription = steps.pipe(operator, finalize(finished)).subscribe({ error: () => undefined });
      steps.next(enqueued('m'));
      expect(clock.timers).toBe(1);
      end(steps, subscription);
      expect(finished).toHaveBeenCalledOnce();
      clock.advance(100_000);
      expect(clock.timers).toBe(0);
    });
  });

  it.each([
    ['a number', 7, 7],
    ['a function of the step', ({ reason }: { reason: string }) => reason.length, 'retries'.length],
  ])('should take the delay from %s', (_, delay, expected) => {
    const { told, operator } = broker({ delay });
    from([enqueued('m'), started, exhausted])
      .pipe(operator)
      .subscribe();
    expect(told).toEqual([`nack m after ${expected}`]);
  });

  it('should hand over the step that ended it, so that a poisonous message can be thrown away', () => {
    const nack = vi.fn();
    from([enqueued('m'), started, exhausted])
      .pipe(broker({ nack }).operator)
      .subscribe();
    expect(nack).toHaveBeenCalledExactlyOnceWith('m', 5000, exhausted);
  });

  it(
    'should complete when the last answer is through, and not before',
    marbles(({ cold, expectObservable }) => {
      const steps = cold('    es(d|) ', { e: enqueued('m'), s: started, d: succeeded });
      const answer = cold('     -----|');
      const expected = '      esd----|';
      expectObservable(steps.pipe(acknowledge({ ack: () => answer, nack: () => undefined }))).toBe(expected, {
        e: enqueued('m'),
        s: started,
        d: succeeded,
      });
    }),
  );

  it.each<[how: string, ack: () => unknown]>([
    [
      'throws',
      () => {
        throw new Error('no');
      },
    ],
    ['rejects', () => Promise.reject(new Error('no'))],
    ['errors', () => throwError(() => new Error('no'))],
  ])('should log an answer that %s, and live on', async (_, ack) => {
    const error = vi.fn();
    const logger: Logger = { ...noopLogger, error };
    const steps = from([enqueued('m'), started, succeeded, enqueued('n'), started, exhausted]);
    const { told, operator } = broker({ ack, observability: { logger } });
    expect(await lastValueFrom(steps.pipe(operator, toArray()))).toHaveLength(6);
    expect(told).toEqual(['nack n after 5000']);
    expect(error).toHaveBeenCalledExactlyOnceWith('ack failed, the broker will deliver again', { id: 'a', error: new Error('no') });
  });

  it('should log a delay that is none, and leave the message to the broker', () => {
    const error = vi.fn();
    const { told, operator } = broker({ delay: () => NaN, observability: { logger: { ...noopLogger, error } } });
    from([enqueued('m'), started, exhausted])
      .pipe(operator)
      .subscribe();
    expect(told).toEqual([]);
    const message = 'Expected `delay` to be a function that returns a finite number of ms >= 0, got `NaN` (number)';
    expect(error).toHaveBeenCalledWith('nack failed, the broker will deliver again', { id: 'a', error: new TypeError(message) });
  });

  it('should live on when the logger throws as well', async () => {
    const logger = {
      ...noopLogger,
      error: () => {
        throw new Error('disk full');
      },
    };
    const ack = () => {
      throw new Error('ack');
    };
    const steps = [enqueued('m'), started, succeeded];
    const operator = acknowledge({ ack, nack: ack, observability: { logger } });
    await expect(lastValueFrom(from(steps).pipe(operator, toArray()))).resolves.toEqual(steps);
  });

  it('should leave messages alone when the loop is cut', () => {
    const { told, operator } = broker();
    const events = new Subject<Trigger>();
    const loop = events
      .pipe(
        reconcile(() => NEVER),
        operator,
      )
      .subscribe();
    events.next({ id: 'a', message: 'm' });
    events.next({ id: 'b', message: 'n' });
    loop.unsubscribe();
    expect(told).toEqual([]);
  });

  it('should be a ledger of its own for each subscription', () => {
    const { told, operator } = broker();
    const steps = new Subject<Step>();
    const acknowledged = steps.pipe(operator);
    acknowledged.subscribe();
    steps.next(enqueued('m'));
    acknowledged.subscribe();
    [started, succeeded].forEach((step) => steps.next(step));
    expect(told).toEqual(['ack m']);
  });

  it.each<[string, Observable<Step>, string]>([
    ['nothing', EMPTY, '|'],
    ['never', NEVER, '-'],
    ['an error', throwError(() => new Error('no')), '#'],
  ])('should pass on %s', (_, source, expected) => {
    marbles(({ expectObservable }) => {
      expectObservable(source.pipe(broker().operator)).toBe(expected, undefined, new Error('no'));
    })();
  });

  it('should let go of its source', () => {
    const steps = new Subject<Step>();
    steps.pipe(broker().operator).subscribe().unsubscribe();
    expect(steps.observed).toBe(false);
  });

  it.each([
    [{ ack: undefined }, 'Expected `ack` to be a function, got `undefined`'],
    [{ observability: {} }, 'Expected `observability` to be an Observability with a logger, got `{}` (object)'],
    [{ nack: 5 }, 'Expected `nack` to be a function, got `5` (number)'],
    [{ working: 5 }, 'Expected `working` to be a function, got `5` (number)'],
    [{ workingEvery: 0 }, 'Expected `workingEvery` to be a finite number of ms > 0, got `0` (number)'],
    [{ timeout: 0 }, 'Expected `timeout` to be a number of ms > 0, got `0` (number)'],
    [{ scheduler: {} }, 'Expected `scheduler` to be a scheduler, got `{}` (object)'],
    [{ delay: -1 }, 'Expected `delay` to be a finite number of ms >= 0 or a function, got `-1` (number)'],
  ])('should name the field', (config, message) => {
    expect(() => broker(config as never)).toThrow(new TypeError(message));
  });
});

it('should refuse a configuration that is none', () => {
  expect(() => acknowledge(undefined as never)).toThrow(new TypeError('Expected `config` to be an object, got `undefined`'));
});

describe('acknowledge, on a loop', () => {
  const events = fc.array(fc.record({ at: fc.nat(3000), id: fc.constantFrom('a', 'b', 'c', 'd', '') }), { maxLength: 40 });
  const outcomes = fc.infiniteStream(
    fc.record({ takes: fc.nat(400), answer: fc.constantFrom<Result[]>({}, {}, { error: 1 }, { error: 1 }, { requeueDelay: 300 }) }),
  );
  const config = fc.record({
    maxItemRetries: fc.nat(2),
    workerQueueSize: fc.integer({ min: 1, max: 3 }),
    delayQueueSize: fc.nat(2),
    workerCount: fc.integer({ min: 1, max: 2 }),
    maxReconcileTime: fc.constantFrom(0, 200),
  });

  it('should answer every message once, and ack it only for a run that started after it came and has succeeded', () => {
    fc.assert(
      fc.property(
        events,
        outcomes,
        config,
        fc.option(fc.nat(4000), { nil: undefined }),
        fc.option(fc.nat(4000), { nil: undefined }),
        (events, outcomes, config, stopAt, resetAt) => {
          const scheduler = new VirtualTimeScheduler();
          const never = concat(timer(100_000, scheduler), NEVER);
          const answers = new Map<number, string[]>();
          const steps: Step[] = [];
          const failures: unknown[] = [];
          const answered = (how: 'ack' | 'nack') => (message: number) => {
            answers.set(message, [...(answers.get(message) ?? []), how]);
            expect(how).toBe(oracle(steps, message));
          };
          from(events.map(({ at, id }, message) => ({ at, id, message })))
            .pipe(
              mergeMap(({ at, id, message }) => timer(at, scheduler).pipe(map((): Trigger => ({ id, message })))),
              reconcile(
                () => {
                  const { takes, answer } = outcomes.next().value as { takes: number; answer: Result };
                  return timer(takes, scheduler).pipe(map(() => answer));
                },
                {
                  ...config,
                  scheduler,
                  stop: stopAt === undefined ? never : timer(stopAt, scheduler),
                  reset: resetAt === undefined ? never : timer(resetAt, scheduler),
                  shutdownGrace: 100,
                },
              ),
              map((step) => {
                steps.push(step);
                return step;
              }),
              acknowledge<number>({ ack: answered('ack'), nack: answered('nack'), observability: { logger: failing } }),
            )
            .subscribe({ error: (error: unknown) => failures.push(error) });
          // A poller never ends by itself.
          scheduler.maxFrames = 200_000;
          scheduler.flush();
          const seen = steps.flatMap(({ trigger }) => (trigger === undefined ? [] : [trigger.message as number]));
          expect(failures).toEqual([]);
          const twice = [...answers.values()].filter((told) => told.length > 1);
          expect(twice).toEqual([]);
          expect([...answers.keys()].sort()).toEqual(seen.sort());
        },
      ),
      { numRuns: 300 },
    );
  });
});

const failing: Logger = {
  ...noopLogger,
  error: (_, fields) => {
    throw fields?.['error'];
  },
};

/** What the steps so far say of a message, by looking back from the last one instead of keeping books. */
function oracle(steps: readonly Step[], message: number): 'ack' | 'nack' | undefined {
  const came = steps.findIndex(({ trigger }) => trigger?.message === message);
  const { id, kind } = steps[came]!;
  if (kind === 'rejected') return 'nack';
  const since = steps.slice(came).filter((step) => step.id === id);
  let hasStarted = false;
  for (const step of since) {
    if (step.kind === 'started') hasStarted = true;
    if (hasStarted && (step.kind === 'succeeded' || (step.kind === 'requeued' && step.failure === undefined))) return 'ack';
    if (step.kind === 'dropped' && (hasStarted || step.took === undefined)) return 'nack';
  }
  return undefined;
}
