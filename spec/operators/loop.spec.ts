import { EMPTY, groupBy, ignoreElements, mergeMap, NEVER, Observable, of, Subject, tap, throwError, timer } from 'rxjs';
import {
  type Command,
  loop,
  type LoopParts,
  type ReconcileConfig,
  type Reconciler,
  reconcileSettings,
  type Step,
} from 'kreconciler/operators';
import { describe, expect, it, vi } from 'vitest';
import { Clock } from '../support/clock.js';
import { inWords } from '../support/rig.js';

type Compose = (events: Observable<string>, parts: LoopParts) => Observable<unknown>;

/** Ids by the number before the colon, each number a lane. */
const byNumber =
  (reconciler: Reconciler): Compose =>
  (events, { lane }) =>
    events.pipe(
      groupBy((id) => Number(id.split(':')[0])),
      mergeMap((group) => group.pipe(lane(reconciler, group.key))),
    );

function looped(compose: Compose, config: ReconcileConfig = {}, source?: Observable<string>) {
  const clock = new Clock();
  const events = new Subject<string>();
  const told: string[] = [];
  const steps: Step[] = [];
  const subscription = (source ?? events)
    .pipe(loop(reconcileSettings({ scheduler: clock, delayResolution: 10, ...config }), compose))
    .subscribe({
      next: (step) => {
        steps.push(step);
        told.push(inWords(step));
      },
      error: (error: unknown) => told.push(`failed: ${(error as Error).message}`),
      complete: () => told.push('complete'),
    });
  return { clock, events, steps, told, subscription };
}

describe('what a loop is composed of', () => {
  it('should be lanes, whose steps have their numbers', () => {
    const { events, steps } = looped(byNumber(() => undefined));
    for (const id of ['3:web', '7:db']) events.next(id);
    expect(steps.map(({ worker, id }) => `${worker} ${id}`)).toEqual([
      ...Array<string>(3).fill('3 3:web'),
      ...Array<string>(3).fill('7 7:db'),
    ]);
  });

  it('should be given anew to each subscription', () => {
    const compose = vi.fn<Compose>(byNumber(() => undefined));
    const steps$ = of('1:web').pipe(loop(reconcileSettings({ scheduler: new Clock() }), compose));
    expect(compose).not.toHaveBeenCalled();
    for (let i = 0; i < 2; i++) steps$.subscribe();
    expect(compose).toHaveBeenCalledTimes(2);
    expect(compose.mock.calls[0]?.[1]).not.toBe(compose.mock.calls[1]?.[1]);
  });

  it('A5 should have its own steps emitted in order with those of the lanes', () => {
    const reject = (id: string): Step => ({ kind: 'rejected', id, worker: -1, at: 0, reason: 'unrouted' });
    const { told, events } = looped((ids, { lane, emit }) => {
      const before = tap((id: string) => {
        emit(reject(`before ${id}`));
      });
      const during = (id: string): void => {
        emit(reject(`during ${id}`));
      };
      return ids.pipe(before, lane(during, 0));
    });
    events.next('web');
    expect(told).toEqual(['rejected before web unrouted', 'enqueued web', 'started web', 'rejected during web unrouted', 'succeeded web']);
  });

  it('should not be seen by whoever subscribes: only steps are', () => {
    expect(looped(() => of('this', 'that')).told).toEqual(['complete']);
  });
});

describe('the end of a loop', () => {
  it('P1 should come when its source and all lanes have ended', () => {
    const { clock, events, told } = looped(byNumber((id) => timer(id === '1:web' ? 10 : 30, clock).pipe(ignoreElements())));
    for (const id of ['1:web', '2:db']) events.next(id);
    events.complete();
    clock.advance(29);
    expect(told).not.toContain('complete');
    clock.advance(1);
    expect(told.slice(-2)).toEqual(['succeeded 2:db', 'complete']);
  });

  it('P2 should come, once `stop` has emitted, when nothing of any lane runs, and the source should be let go first', () => {
    const stop = new Subject<void>();
    const { clock, events, told } = looped(
      byNumber((id) => (id.endsWith('web') ? timer(20, clock).pipe(ignoreElements()) : undefined)),
      { stop },
    );
    for (const id of ['1:web', '1:db', '2:web', '2:db']) events.next(id);
    stop.next();
    expect(events.observed).toBe(false);
    expect(told.slice(-2)).toEqual(['dropped 1:db stopped', 'dropped 2:db stopped']);
    clock.advance(20);
    expect(told.slice(-3)).toEqual(['succeeded 1:web', 'succeeded 2:web', 'complete']);
  });

  it('P2 should come at once by a `stop` before there is any lane', () => {
    const { told, events } = looped(
      byNumber(() => undefined),
      { stop: of(1) },
    );
    expect(told).toEqual(['complete']);
    expect(events.observed).toBe(false);
  });

  it.each<[string, ReconcileConfig, Observable<string>]>([
    ['its source', {}, throwError(() => new Error('broken'))],
    ['`stop`', { stop: throwError(() => new Error('broken')) }, NEVER],
    ['`reset`', { reset: throwError(() => new Error('broken')) }, NEVER],
    ['`commands`', { commands: throwError(() => new Error('broken')) }, NEVER],
  ])('P4 should be a failure after a stop in good order if %s fails', (_, config, source) => {
    expect(
      looped(
        byNumber(() => undefined),
        config,
        source,
      ).told,
    ).toEqual(['failed: broken']);
  });

  it('P4 should be a failure only after what runs has finished', () => {
    const { clock, events, told } = looped(byNumber(() => timer(20, clock).pipe(ignoreElements())));
    events.next('1:web');
    events.error(new Error('broken'));
    expect(told.at(-1)).toBe('started 1:web');
    clock.advance(20);
    expect(told.slice(-2)).toEqual(['succeeded 1:web', 'failed: broken']);
  });

  it('P4 should be a failure if what composes it throws, or fails', () => {
    const broken = (): never => {
      throw new Error('broken');
    };
    expect(looped(broken).told).toEqual(['failed: broken']);
    expect(looped(() => throwError(() => new Error('broken'))).told).toEqual(['failed: broken']);
  });

  it('P3 should be silent by unsubscribing, and leave nothing', () => {
    const { clock, events, told, subscription } = looped(byNumber(() => NEVER));
    events.next('1:web');
    subscription.unsubscribe();
    expect([events.observed, clock.timers, told.at(-1)]).toEqual([false, 0, 'started 1:web']);
  });
});

describe('what all lanes hear', () => {
  it('L2 should reach them before one of them starts anything because of what it sees another drop', () => {
    const reset = new Subject<void>();
    const { events, told, steps } = looped(
      byNumber(() => NEVER),
      { reset },
    );
    for (const id of ['1:web', '2:db']) events.next(id);
    told.length = 0;
    reset.subscribe();
    reset.next();
    expect(steps.slice(-2).map(inWords)).toEqual(['dropped 1:web stopped', 'dropped 2:db stopped']);
    events.next('2:db');
    expect(told.slice(-2)).toEqual(['enqueued 2:db', 'started 2:db']);
  });

  it('should be subscribed to once, however many lanes there are, and also by none', () => {
    const subscribed = vi.fn();
    const notifier = new Observable<never>(() => {
      subscribed();
    });
    const commands = new Observable<Command>(() => {
      subscribed();
    });
    const { events } = looped(
      byNumber(() => undefined),
      { stop: notifier, reset: notifier, commands },
    );
    expect(subscribed).toHaveBeenCalledTimes(3);
    for (const id of ['1:web', '2:db', '3:dns']) events.next(id);
    expect(subscribed).toHaveBeenCalledTimes(3);
  });

  it('C1 should be told to lanes that are born later, too: a pause of the loop', () => {
    const commands = new Subject<Command>();
    const { events, told } = looped(
      byNumber(() => undefined),
      { commands },
    );
    commands.next({ kind: 'pause' });
    events.next('1:web');
    expect(told).toEqual(['paused ', 'merged 1:web']);
    commands.next({ kind: 'resume' });
    expect(told.slice(2)).toEqual(['resumed ', 'enqueued 1:web', 'started 1:web', 'succeeded 1:web']);
  });

  it('W1 should be bounded together by `concurrency`', () => {
    const { clock, events, told } = looped(
      byNumber(() => timer(10, clock).pipe(ignoreElements())),
      { concurrency: 1 },
    );
    for (const id of ['1:web', '2:db']) events.next(id);
    expect(told).not.toContain('started 2:db');
    clock.advance(10);
    expect(told.slice(-2)).toEqual(['succeeded 1:web', 'started 2:db']);
  });
});

it('should complete at once over nothing', () => {
  expect(
    looped(
      byNumber(() => undefined),
      {},
      EMPTY,
    ).told,
  ).toEqual(['complete']);
});
