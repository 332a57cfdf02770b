import { byPriority, type Command, fair, fifo, type ReadyItem, type ReadyQueue, type Reconciler, type Step } from 'kreconciler/operators';
import { concat, ignoreElements, type Observable, Subject, throwError, timer } from 'rxjs';
import { describe, expect, it, test } from 'vitest';
import { checkAccounting } from '../../support/accounting.js';
import { NOTHING_LEFT, Rig } from '../../support/rig.js';

/** Takes 5 ms. */
const slow: Reconciler = () => timer(5, Rig.current.clock).pipe(ignoreElements());
const started = (rig: Rig): string[] => rig.steps.filter(({ kind }) => kind === 'started').map(({ id }) => id);
const of = <K extends Step['kind']>(rig: Rig, kind: K) => rig.steps.filter((step) => step.kind === kind) as Extract<Step, { kind: K }>[];

describe('W3: the order says who runs next', () => {
  test('W3 should run the more urgent first, and among equals those that came first', () => {
    const rig: Rig = new Rig(slow, { order: byPriority() });
    rig.trigger('running', 'ordinary');
    rig.events.next({ id: 'resync', priority: -1 });
    rig.events.next({ id: 'user', priority: 10 });
    rig.trigger('another');
    rig.clock.advance(100);
    expect(started(rig)).toEqual(['running', 'user', 'ordinary', 'another', 'resync']);
  });

  test('W3 should let an id that is ready have the best claim of its events', () => {
    const rig: Rig = new Rig(slow, { order: byPriority({ ageing: 1000 }) });
    rig.trigger('running', 'first', 'second');
    rig.events.next({ id: 'second', priority: 1 });
    rig.events.next({ id: 'second', priority: 0 });
    rig.clock.advance(100);
    expect(started(rig)).toEqual(['running', 'second', 'first']);
    expect(of(rig, 'merged')).toHaveLength(2);
  });

  test('W3 should let one that waits pass those that come later than its priority is worth', () => {
    const rig: Rig = new Rig(() => timer(50, Rig.current.clock).pipe(ignoreElements()), { order: byPriority({ ageing: 10 }) });
    rig.trigger('running', 'patient');
    rig.clock.advance(40);
    rig.events.next({ id: 'urgent', priority: 3 });
    rig.clock.advance(500);
    expect(started(rig)).toEqual(['running', 'patient', 'urgent']);
  });

  test('W3 should let a wake-up claim anew with the highest priority since the last success', () => {
    const rig: Rig = new Rig(
      (id, { attempt }) => {
        if (id === 'failing' && attempt === 1) throw new Error('no');
        return timer(20, Rig.current.clock).pipe(ignoreElements());
      },
      { order: byPriority({ ageing: 1000 }) },
    );
    rig.events.next({ id: 'failing', priority: 2 });
    rig.trigger('running', 'ordinary');
    rig.clock.advance(500);
    expect(started(rig)).toEqual(['failing', 'running', 'failing', 'ordinary']);
  });

  test('W3 should let a crowd of one key delay another by one run', () => {
    const rig: Rig = new Rig(slow, { order: fair({ key: (id) => id.split('/')[0] as string }) });
    for (let i = 0; i < 1000; i++) rig.trigger(`acme/${i}`);
    rig.trigger('zoo/web');
    rig.clock.advance(16);
    expect(started(rig).slice(0, 3)).toEqual(['acme/0', 'acme/1', 'zoo/web']);
  });

  test('P4 should be the same steps as ever with the default order', () => {
    const told = (order?: () => ReadyQueue): string[] => {
      const rig: Rig = new Rig(slow, order === undefined ? {} : { order });
      rig.trigger('web', 'mail', 'web', 'dns', 'mail');
      rig.clock.advance(7);
      rig.trigger('web', 'mail');
      rig.clock.advance(100);
      return rig.told();
    };
    expect(told(fifo)).toEqual(told());
  });
});

describe('W3: the key of an id is asked for by user code', () => {
  test('W3 should let users change their mind about the key of an id that is ready', () => {
    const commands = new Subject<Command>();
    let tenant = 'acme';
    const rig: Rig = new Rig(slow, { order: fair({ key: () => tenant, concurrency: 1 }), commands });
    rig.trigger('web', 'mail', 'dns', 'proxy');
    tenant = 'zoo';
    commands.next({ kind: 'discard', id: 'mail' });
    rig.events.next({ id: 'proxy', force: true });
    rig.clock.advance(100);
    expect(started(rig)).toEqual(['web', 'proxy', 'dns']);
    expect(rig.end).toBeUndefined();
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  const talks: [string, (rig: Rig, commands: Subject<Command>) => void, string[]][] = [
    ['stops the loop', ({ stop }) => stop.next(), ['enqueued web', 'dropped web stopped']],
    ['resets the loop', ({ reset }) => reset.next(), ['enqueued web', 'dropped web stopped']],
    ['discards it', (_, commands) => commands.next({ kind: 'discard', id: 'web' }), ['enqueued web', 'dropped web discarded']],
    ['pauses it', (_, commands) => commands.next({ kind: 'pause', id: 'web' }), ['enqueued web', 'paused web']],
    ['triggers it', (rig) => rig.trigger('web'), ['enqueued web', 'merged web', 'started web', 'succeeded web']],
    ['forces it', ({ events }) => events.next({ id: 'web', force: true }), ['enqueued web', 'merged web', 'started web', 'succeeded web']],
    ['unsubscribes', ({ subscription }) => subscription.unsubscribe(), []],
  ];
  it.each(talks)('A2 should tell of an id that is ready before what follows, if the function for its key %s', (_, talk, told) => {
    const commands = new Subject<Command>();
    let isFirst = true;
    const key = (): string => {
      if (isFirst) {
        isFirst = false;
        talk(rig, commands);
      }
      return '';
    };
    const rig: Rig = new Rig(() => undefined, { order: fair({ key }), commands });
    rig.trigger('web', 'mail');
    rig.clock.advance(100);
    expect(rig.told().filter((words) => words.includes(' web'))).toEqual(told);
    expect(rig.end === undefined || rig.end === 'completed').toBe(true);
    rig.events.complete();
    commands.complete();
    expect(rig.left.timers).toBe(0);
  });
});

describe('W3: what users do while their key function is asked', () => {
  test('W3 should keep an order whole that is asked to take out what is forced or discarded while it takes another in', () => {
    const commands = new Subject<Command>();
    let talk = (): void => {};
    const key = (): string => {
      talk();
      return '';
    };
    const rig: Rig = new Rig(slow, { order: fair({ key, within: byPriority() }), commands });
    rig.trigger('running');
    for (const id of ['forced', 'discarded', 'ordinary']) rig.events.next({ id, priority: 1 });
    talk = () => {
      talk = () => {};
      rig.events.next({ id: 'forced', priority: 5, force: true });
      commands.next({ kind: 'discard', id: 'discarded' });
    };
    rig.trigger('last');
    rig.clock.advance(100);
    expect(started(rig)).toEqual(['running', 'forced', 'ordinary', 'last']);
    expect(rig.end).toBeUndefined();
    expect(rig.left).toEqual(NOTHING_LEFT);
  });
});

describe('W3, P4: an order that breaks its rules ends the loop in good order', () => {
  /** A stack, which is an order too. */
  class Stack implements ReadyQueue {
    readonly items: ReadyItem[] = [];
    push(item: ReadyItem): void {
      this.items.push(item);
    }
    shift(): ReadyItem | undefined {
      return this.items.pop();
    }
    remove(item: ReadyItem): void {
      this.items.splice(this.items.indexOf(item), 1);
    }
    ended(): void {
      // It does not matter.
    }
  }

  test('W3 should take one that a user wrote', () => {
    const rig: Rig = new Rig(slow, { order: () => new Stack() });
    rig.trigger('web', 'mail', 'dns', 'proxy');
    rig.events.next({ id: 'mail', priority: 5 });
    rig.clock.advance(100);
    expect(started(rig)).toEqual(['web', 'mail', 'proxy', 'dns']);
    rig.events.complete();
    expect(rig.end).toBe('completed');
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  const broken: Record<string, [RegExp, (stack: Stack) => Partial<ReadyQueue>]> = {
    'throws in `push`': [
      /it threw/,
      (stack) => ({
        push: (item) => {
          if (item.id === 'dns') throw new Error('full');
          stack.items.push(item);
        },
      }),
    ],
    'throws in `shift`': [
      /it threw/,
      () => ({
        shift: () => {
          throw new Error('empty');
        },
      }),
    ],
    'loses an id': [
      /gave nothing, though 1 items are there/,
      (stack) => ({
        shift: () => {
          stack.items.pop();
          return undefined;
        },
      }),
    ],
    'gives an id twice': [/which is not there/, (stack) => ({ shift: () => stack.items[0] })],
    'gives what is no item': [/which is not there/, () => ({ shift: () => ({ id: 'web', priority: 0, since: 0 }) })],
    'holds all back though nothing runs': [/gave nothing, though/, () => ({ shift: () => undefined })],
  };
  for (const [fault, [message, change]] of Object.entries(broken)) {
    test(`P4 should end the loop with an error that says so, if it ${fault}`, () => {
      const rig: Rig = new Rig(slow, {
        order: () => {
          const stack = new Stack();
          return Object.assign(stack, change(stack));
        },
      });
      rig.trigger('web', 'mail', 'dns');
      rig.clock.advance(100);
      expect(rig.end).toMatchObject({ error: expect.objectContaining({ message: expect.stringMatching(message) as string }) as Error });
      // No silent loss: whoever was enqueued is started or dropped.
      const left = new Set<string>();
      for (const { kind, id } of rig.steps) {
        if (kind === 'enqueued') left.add(id);
        else if (kind === 'started' || kind === 'dropped') left.delete(id);
      }
      expect([...left]).toEqual([]);
      expect(rig.left.timers).toBe(0);
    });
  }

  test('P4 should end the loop at once if it threw because of a reset', () => {
    for (const method of ['shift', 'ended'] as const) {
      const stack = new Stack();
      const rig: Rig = new Rig(slow, { order: () => stack, concurrency: 1 });
      rig.trigger('web', 'mail');
      stack[method] = () => {
        throw new Error('no');
      };
      rig.reset.next();
      expect(rig.end).toMatchObject({
        error: expect.objectContaining({ message: expect.stringContaining('it threw') as string }) as Error,
      });
    }
  });

  test('P4 should start nothing once the order has broken its rules, not even what is forced', () => {
    const ran: string[] = [];
    const rig: Rig = new Rig(
      (id) => {
        ran.push(id);
        if (id !== 'first') return;
        rig.trigger('web');
        rig.events.next({ id: 'dns', force: true });
      },
      {
        order: () => {
          const stack = new Stack();
          const push = stack.push.bind(stack);
          return Object.assign(stack, {
            push: (item: ReadyItem) => {
              if (item.id === 'web') throw new Error('no');
              push(item);
            },
          });
        },
      },
    );
    rig.trigger('first');
    expect(ran).toEqual(['first']);
    expect(rig.told('dropped').sort()).toEqual(['dropped dns stopped', 'dropped web stopped']);
    expect(rig.end).toMatchObject({ error: expect.objectContaining({ message: expect.stringContaining('it threw') as string }) as Error });
    checkAccounting(rig.steps);
  });

  test('P4 should end the loop if its workers share one queue, though the library made it', () => {
    const shared = byPriority()();
    const rig: Rig = new Rig(slow, { order: () => shared, workerCount: 2, workerHasher: (id) => Number(id === 'mail') });
    rig.trigger('web', 'dns', 'mail', 'proxy');
    rig.clock.advance(200);
    expect(rig.end).toMatchObject({
      error: expect.objectContaining({ message: expect.stringContaining('is broken') as string }) as Error,
    });
  });

  test('P4 should end the loop if the order cannot be made', () => {
    const rig: Rig = new Rig(slow, {
      order: () => {
        throw new Error('no memory');
      },
    });
    rig.trigger('web');
    expect(rig.end).toMatchObject({
      error: expect.objectContaining({ message: expect.stringContaining('it could not be made') as string }) as Error,
    });
  });
});

describe('W5: an id that ended well rests', () => {
  test('W5 should merge an event during the rest, and enqueue it when that ends', () => {
    const rig: Rig = new Rig(() => undefined, { cooldown: 100 });
    rig.trigger('web');
    rig.clock.advance(30);
    rig.trigger('web', 'web');
    expect(of(rig, 'merged')).toHaveLength(2);
    rig.clock.advance(69);
    expect(rig.starts('web')).toEqual([0]);
    rig.clock.advance(1);
    expect(rig.starts('web')).toEqual([0, 100]);
    expect(of(rig, 'enqueued').map(({ reason, trigger }) => [reason, trigger !== undefined])).toEqual([
      ['event', true],
      ['event', false],
    ]);
  });

  test('W5 should be idle after it, without a step, if no event came', () => {
    const rig: Rig = new Rig(() => undefined, { cooldown: 100 });
    rig.trigger('web');
    expect(rig.told()).toEqual(['enqueued web', 'started web', 'succeeded web']);
    expect(rig.left.ids).toBe(1);
    rig.clock.advance(100);
    expect(rig.left).toEqual(NOTHING_LEFT);
    expect(rig.told()).toHaveLength(3);
  });

  test('W5 should rest after a run that found the id dirty, and run once more after that', () => {
    const rig: Rig = new Rig(slow, { cooldown: 100 });
    rig.trigger('web', 'web');
    rig.clock.advance(300);
    expect(rig.starts('web')).toEqual([0, 110]);
  });

  test('W5 should wait for the later of rest and `requeueDelay`, and say so in `delay`', () => {
    let asks = [30, 200];
    const rig: Rig = new Rig(() => ({ requeueDelay: asks.shift() ?? 0 }), { cooldown: 100 });
    rig.trigger('web');
    rig.clock.advance(1000);
    expect(of(rig, 'requeued').map(({ delay }) => delay)).toEqual([100, 200]);
    expect(rig.starts('web')).toEqual([0, 100, 300]);
    asks = [];
  });

  test('W5 should let an event during the rest run it at its end, before its `requeueDelay`, and one after it at once', () => {
    const rig: Rig = new Rig((_, { reason }) => (reason === 'event' ? { requeueDelay: 500 } : undefined), { cooldown: 100 });
    rig.trigger('web');
    rig.clock.advance(50);
    rig.trigger('web');
    rig.clock.advance(150);
    rig.trigger('web');
    rig.clock.advance(0);
    expect(rig.starts('web')).toEqual([0, 100, 200]);
  });

  test('W5 should enqueue what was marked past a full queue, and count rest in no size', () => {
    const rig: Rig = new Rig((id) => (id === 'web' ? undefined : slow(id, undefined as never)), {
      cooldown: 20,
      workerQueueSize: 1,
      delayQueueSize: 0,
    });
    rig.trigger('web', 'web');
    rig.trigger('mail', 'dns');
    expect(of(rig, 'rejected')).toEqual([]);
    rig.clock.advance(20);
    expect(started(rig)).toContain('web');
    expect(rig.starts('web')).toEqual([0, 20]);
  });

  test('W5 should know no rest after a failure', () => {
    const rig: Rig = new Rig(
      (_, { attempt }) => {
        if (attempt === 1) throw new Error('no');
      },
      { cooldown: 1000 },
    );
    rig.trigger('web');
    rig.clock.advance(20);
    expect(rig.starts('web')).toEqual([0, 10]);
  });

  test('P1 should not wait for what only rests, but for what was marked meanwhile', () => {
    const resting: Rig = new Rig(() => undefined, { cooldown: 100 });
    resting.trigger('web');
    resting.events.complete();
    expect(resting.end).toBe('completed');
    expect(resting.clock.timers).toBe(0);
    const marked: Rig = new Rig(() => undefined, { cooldown: 100 });
    marked.trigger('web', 'web');
    marked.trigger('web');
    marked.events.complete();
    expect(marked.end).toBeUndefined();
    marked.clock.advance(100);
    expect(marked.starts('web')).toEqual([0, 100]);
    expect(marked.end).toBe('completed');
  });

  test('P2 should answer a mark that a rest holds as a dirty one, and rests with nothing', () => {
    const rig: Rig = new Rig(() => undefined, { cooldown: 100 });
    rig.trigger('web', 'mail');
    rig.trigger('web');
    const before = rig.steps.length;
    rig.stop.next();
    expect(rig.told().slice(before)).toEqual(['enqueued web', 'dropped web stopped']);
    expect(rig.end).toBe('completed');
    expect(rig.left.timers).toBe(0);
  });

  test('L2 should end at a reset: the next event runs at once', () => {
    const rig: Rig = new Rig(() => undefined, { cooldown: 100 });
    rig.trigger('web');
    rig.reset.next();
    rig.trigger('web');
    expect(rig.starts('web')).toEqual([0, 0]);
  });

  test('T4 should last as long as it should, though the clock is set', () => {
    const rig: Rig = new Rig(() => undefined, { cooldown: 100 });
    rig.trigger('web');
    rig.clock.wallClockSetBy = 3_600_000;
    rig.trigger('web');
    rig.clock.advance(99);
    expect(rig.starts('web')).toHaveLength(1);
    rig.clock.advance(1);
    expect(rig.starts('web')).toHaveLength(2);
  });
});

describe('W6: force runs next', () => {
  const forced = (id: string) => ({ id, force: true });

  test('W6 should pass the order, and be first come, first served among forced ones', () => {
    const rig: Rig = new Rig(slow, { order: byPriority() });
    rig.trigger('running', 'web');
    rig.events.next({ id: 'urgent', priority: 100 });
    rig.events.next(forced('mail'));
    rig.events.next(forced('web'));
    rig.clock.advance(100);
    expect(started(rig)).toEqual(['running', 'mail', 'web', 'urgent']);
    expect(rig.told('merged')).toEqual(['merged web']);
  });

  test('W6 should pass a full queue, and take no room in it', () => {
    const rig: Rig = new Rig(slow, { workerQueueSize: 1 });
    rig.trigger('running', 'web');
    rig.events.next(forced('mail'));
    expect(of(rig, 'rejected')).toEqual([]);
    rig.clock.advance(6);
    rig.trigger('dns');
    expect(rig.told('rejected')).toEqual(['rejected dns full']);
  });

  test('W6 should pass the embargo after a failure, and be early: it spends nothing and moves no deadline', () => {
    const rig: Rig = new Rig(
      () => {
        throw new Error('no');
      },
      { backoff: () => 100, maxItemRetries: 1 },
    );
    rig.trigger('web');
    rig.clock.advance(3);
    rig.events.next(forced('web'));
    expect(rig.starts('web')).toEqual([0, 3]);
    rig.clock.advance(200);
    expect(rig.starts('web')).toEqual([0, 3, 100]);
    expect(rig.told('dropped')).toEqual(['dropped web retries']);
  });

  test('W6 should pass a rest', () => {
    const rig: Rig = new Rig(() => undefined, { cooldown: 100 });
    rig.trigger('web');
    rig.clock.advance(5);
    rig.events.next(forced('web'));
    expect(rig.starts('web')).toEqual([0, 5]);
  });

  test.each<[string, Reconciler]>([
    ['well', slow],
    [
      'badly',
      (id, context) =>
        concat(
          slow(id, context) as Observable<never>,
          throwError(() => new Error('no')),
        ),
    ],
  ])('W6 should let a forced mark run when the run has ended %s, without rest or embargo', (_, reconciler) => {
    const rig: Rig = new Rig(
      (id, context) => (context.reason === 'event' && rig.starts(id).length === 1 ? reconciler(id, context) : undefined),
      { cooldown: 100 },
    );
    rig.trigger('web');
    rig.events.next(forced('web'));
    rig.clock.advance(50);
    expect(rig.starts('web')).toEqual([0, 5]);
  });

  test('W6 should never run two of one id, nor while its promise is open (S1)', async () => {
    let release: () => void = () => undefined;
    const rig: Rig = new Rig(
      (_, { attempt, reason }) =>
        attempt === 1 && reason === 'event' && rig.starts('web').length === 1
          ? new Promise<void>((done) => {
              release = done;
            })
          : undefined,
      { maxReconcileTime: 20 },
    );
    rig.trigger('web');
    rig.clock.advance(20);
    rig.events.next(forced('web'));
    expect(rig.told('abandoned', 'merged')).toEqual(['abandoned web', 'merged web']);
    await rig.clock.pass(1000);
    expect(rig.starts('web')).toEqual([0]);
    release();
    await rig.clock.pass(0);
    expect(rig.starts('web')).toHaveLength(2);
  });

  test('W6 should count for no key of `fair`', () => {
    const rig: Rig = new Rig(slow, { order: fair({ key: () => 'all', concurrency: 1 }) });
    rig.trigger('web', 'mail');
    rig.events.next(forced('dns'));
    rig.clock.advance(100);
    expect(started(rig)).toEqual(['web', 'dns', 'mail']);
  });
});

describe('W8: an event below 0 says nothing new', () => {
  const minor = (id: string) => ({ id, priority: -1 });

  test('W8 should start an idle id, and one that waits without a failure', () => {
    const rig: Rig = new Rig(() => (rig.starts('web').length === 1 ? { requeueDelay: 1000 } : undefined));
    rig.events.next(minor('web'));
    rig.clock.advance(10);
    rig.events.next(minor('web'));
    expect(rig.starts('web')).toEqual([0, 10]);
  });

  test('W8 should mark a running id, which runs once more', () => {
    const rig: Rig = new Rig(slow);
    rig.trigger('web');
    rig.events.next(minor('web'));
    rig.clock.advance(100);
    expect(rig.starts('web')).toEqual([0, 5]);
  });

  test.each([5, 50])('W8 should pull no retry forward, %s ms after the failure', (ms) => {
    const rig: Rig = new Rig(
      (_, { attempt }) => {
        if (attempt === 1) throw new Error('no');
      },
      { backoff: () => 200 },
    );
    rig.trigger('web');
    rig.clock.advance(ms);
    rig.events.next(minor('web'));
    expect(rig.told('merged')).toEqual(['merged web']);
    rig.clock.advance(500);
    expect(rig.starts('web')).toEqual([0, 200]);
  });

  test('W8 should not let its mark pull a retry forward either', () => {
    const rig: Rig = new Rig(
      (id, context) => {
        if (context.attempt > 1) return undefined;
        rig.events.next(minor(id));
        throw new Error('no');
      },
      { backoff: () => 200 },
    );
    rig.trigger('web');
    rig.clock.advance(500);
    expect(of(rig, 'requeued').map(({ delay }) => delay)).toEqual([200]);
    expect(rig.starts('web')).toEqual([0, 200]);
  });

  it.each([-0.5, -1, -100])('W8 should hold for a priority of %s in the default order', (priority) => {
    const rig: Rig = new Rig(slow);
    rig.trigger('running');
    rig.events.next({ id: 'first', priority });
    rig.events.next({ id: 'second', priority: 10 });
    rig.clock.advance(100);
    expect(started(rig)).toEqual(['running', 'first', 'second']);
  });
});
