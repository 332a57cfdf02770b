import {
  type Command,
  fair,
  fifo,
  type ReadyItem,
  type ReadyQueue,
  type Reconciler,
  reconcile,
  type ReconcileConfig,
} from 'kreconciler/operators';
import { NEVER, Subject } from 'rxjs';
import { describe, expect, it, test } from 'vitest';
import { checkAccounting } from '../../support/accounting.js';
import { inWords, NOTHING_LEFT, Rig } from '../../support/rig.js';

const hung = (): Promise<never> => new Promise(() => undefined);

/** `fifo` that calls users as it is asked. */
function asking(said: Partial<Record<'push' | 'shift' | 'ended', () => void>>): () => ReadyQueue {
  return () => {
    const queue = fifo();
    return {
      push: (item) => {
        queue.push(item);
        said.push?.();
      },
      shift: () => {
        const item = queue.shift();
        if (item !== undefined) said.shift?.();
        return item;
      },
      remove: (item) => queue.remove(item),
      ended: (item) => {
        queue.ended(item);
        said.ended?.();
      },
    };
  };
}

/** Calls `say` the first time only. */
function once(say: () => void): () => void {
  let isSaid = false;
  return () => {
    if (isSaid) return;
    isSaid = true;
    say();
  };
}

describe('What is said while a failure is noted is heard when it is', () => {
  function failing(say: (rig: Rig) => void, config: ReconcileConfig = {}, reconciler?: Reconciler): Rig {
    const sayOnce = once(() => say(rig));
    const backoff = (): number => {
      sayOnce();
      return 300;
    };
    const rejects: Reconciler = (id) => Promise.reject(new Error(id));
    const rig: Rig = new Rig(reconciler ?? rejects, { workerConcurrency: 2, backoff, ...config });
    return rig;
  }

  test('L2 should drop the retry in a backoff that feeds the loop and ends the term', async () => {
    const rig = failing(({ events, reset }) => {
      events.next('db');
      reset.next();
    });
    rig.trigger('web');
    await rig.clock.pass(1);
    expect(rig.told()).toEqual(['enqueued web', 'started web', 'requeued web', 'enqueued db', 'dropped db stopped', 'dropped web stopped']);
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  test('P2 should complete at once after a backoff that feeds the loop and stops it', async () => {
    const rig = failing(({ events, stop }) => {
      events.next('db');
      stop.next();
    });
    rig.trigger('web');
    await rig.clock.pass(1);
    expect(rig.told('started', 'dropped')).toEqual(['started web', 'dropped db stopped', 'dropped web stopped']);
    expect(rig.end).toBe('completed');
    checkAccounting(rig.steps);
  });

  test('Q3 should let no more ids wait than may, though the backoff of one makes another fail', async () => {
    const rig = failing(
      ({ events }) => events.next('db'),
      { delayQueueSize: 1 },
      (id) => {
        if (id === 'db') throw new Error('db');
        return Promise.reject(new Error(id));
      },
    );
    rig.trigger('web');
    await rig.clock.pass(1);
    expect(rig.told('requeued', 'dropped')).toEqual(['requeued web', 'dropped db delay_queue_full']);
  });

  test('W3 should not exceed the limit of a key by an id that a backoff asks for', async () => {
    const order = fair({ key: () => 'tenant', concurrency: 1 });
    const rig = failing(
      ({ events }) => events.next('db'),
      { order },
      (id) => (id === 'db' ? hung() : Promise.reject(new Error(id))),
    );
    rig.trigger('web');
    await rig.clock.pass(1);
    expect(rig.told()).toEqual(['enqueued web', 'started web', 'requeued web', 'enqueued db', 'started db']);
  });

  test('A3 should note the end of another run of the lane only afterwards', async () => {
    const other = new Subject<never>();
    const rig = failing(
      () => other.complete(),
      {},
      (id) => (id === 'db' ? other : Promise.reject(new Error(id))),
    );
    rig.trigger('db', 'web');
    await rig.clock.pass(1);
    expect(rig.told('requeued', 'succeeded')).toEqual(['requeued web', 'succeeded db']);
    checkAccounting(rig.steps, undefined, false);
  });
});

describe('S1: a run that gave way', () => {
  test('S1, A3 should have one end though its error ends the term when it is asked for its cause', async () => {
    const runs: string[] = [];
    const rig: Rig = new Rig(
      (id, { superseded }) => {
        runs.push(id);
        if (runs.length > 1) return hung();
        return new Promise((_, reject) => {
          superseded.addEventListener('abort', () => {
            const cause = {
              get: (): unknown => {
                rig.reset.next();
                return superseded.reason;
              },
            };
            reject(Object.defineProperty(new Error('gave way'), 'cause', cause));
          });
        });
      },
      { workerConcurrency: 2 },
    );
    rig.trigger('web', 'web');
    await rig.clock.pass(50);
    rig.trigger('web');
    await rig.clock.pass(500);
    expect(rig.told()).toEqual([
      'enqueued web',
      'started web',
      'merged web',
      'dropped web stopped',
      'enqueued web',
      'dropped web stopped',
      'enqueued web',
      'started web',
    ]);
    expect(runs).toHaveLength(2);
  });
});

describe('What an order causes while it is asked is heard as soon as it has answered', () => {
  const said: [string, (rig: Rig) => void][] = [
    ['stop', ({ stop }) => stop.next()],
    ['reset', ({ reset }) => reset.next()],
    ['unsubscribe', ({ subscription }) => subscription.unsubscribe()],
  ];

  test('W1 should start what it asks for as it is asked for the next one, in a place that is free', () => {
    const rig: Rig = new Rig(() => NEVER, { workerConcurrency: 2, order: asking({ shift: once(() => rig.trigger('db')) }) });
    rig.trigger('web');
    expect(rig.told('started')).toEqual(['started web', 'started db']);
  });

  it.each(said)('P2, P3, L2 should cut off the run that it was asked for when it says: %s', (how, say) => {
    const aborted: string[] = [];
    const ran: string[] = [];
    const rig: Rig = new Rig(
      (id, { signal }) => {
        ran.push(id);
        signal.addEventListener('abort', () => aborted.push(id));
        return NEVER;
      },
      { workerConcurrency: 2, shutdownGrace: 50, order: asking({ shift: once(() => say(rig)) }) },
    );
    rig.trigger('web');
    rig.clock.advance(300);
    if (how === 'stop') expect([ran, aborted, rig.end]).toEqual([['web'], ['web'], 'completed']);
    else expect(ran).toEqual([]);
    expect(rig.clock.timers).toBe(0);
    if (how === 'unsubscribe') return;
    expect(rig.told('dropped')).toEqual(['dropped web stopped']);
    checkAccounting(rig.steps);
  });

  test('P3 should run nothing after a clock that unsubscribes', () => {
    const ran: string[] = [];
    const events = new Subject<string>();
    let isArmed = false;
    const scheduler = {
      now: () => {
        if (isArmed) subscription.unsubscribe();
        return 0;
      },
      schedule: () => {
        throw new Error('no timer is needed');
      },
    };
    const subscription = events.pipe(reconcile((id) => void ran.push(id), { scheduler })).subscribe(({ kind }) => {
      if (kind === 'enqueued') isArmed = true;
    });
    events.next('web');
    expect(ran).toEqual([]);
  });

  it.each<[string, 'remove' | 'shift', string[]]>([
    [
      'commands complete as it is to remove an id',
      'remove',
      ['dropped db discarded', 'dropped mail stopped', 'succeeded web', 'completed'],
    ],
    [
      'events complete as it is asked for the next one',
      'shift',
      ['dropped db stopped', 'dropped mail stopped', 'dropped web stopped', 'completed'],
    ],
  ])('P4, C3 should not be asked again before it has answered: %s', (_, asked, told) => {
    const [events, commands, reset, run] = [new Subject<string>(), new Subject<Command>(), new Subject<void>(), new Subject<never>()];
    const seen: string[] = [];
    let isArmed = false;
    const complete = (): void => {
      if (isArmed) (asked === 'remove' ? commands : events).complete();
      isArmed = false;
    };
    const order = (): ReadyQueue => {
      const items: ReadyItem[] = [];
      return {
        push: (item) => void items.push(item),
        shift: () => {
          const item = items.shift();
          if (asked === 'shift') complete();
          return item;
        },
        ended: () => undefined,
        remove: (item) => {
          if (!items.includes(item)) throw new Error('not there');
          items.splice(items.indexOf(item), 1);
          complete();
        },
      };
    };
    events.pipe(reconcile((id) => (id === 'web' ? run : undefined), { order, commands, reset })).subscribe({
      next: (step) => seen.push(inWords(step)),
      error: (error: unknown) => seen.push(String(error)),
      complete: () => seen.push('completed'),
    });
    for (const id of ['web', 'db', 'mail']) events.next(id);
    commands.next({ kind: 'pause' });
    (asked === 'remove' ? events : commands).complete();
    isArmed = true;
    if (asked === 'remove') commands.next({ kind: 'discard', id: 'db' });
    else reset.next();
    run.complete();
    expect(seen.slice(5)).toEqual(told);
  });

  test('A1 should give an event its step that comes as a reset tells the order of an end', () => {
    let isArmed = false;
    const ended = (): void => {
      if (!isArmed) return;
      isArmed = false;
      rig.trigger('db');
    };
    const rig: Rig = new Rig(hung, { order: asking({ ended }) });
    rig.trigger('web');
    isArmed = true;
    rig.reset.next();
    expect(rig.told().slice(2)).toEqual(['dropped web stopped', 'abandoned web', 'enqueued db', 'started db']);
  });
});
