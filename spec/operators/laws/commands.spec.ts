import type { Command, ReconcileConfig, Reconciler, Step } from 'kreconciler/operators';
import { concat, ignoreElements, NEVER, of, Subject, throwError, timer } from 'rxjs';
import { describe, expect, it, test } from 'vitest';
import { NOTHING_LEFT, Rig } from '../../support/rig.js';

/** Takes 5 ms. */
const ends = () => timer(5, Rig.current.clock).pipe(ignoreElements());
const slow: Reconciler = ends;
const fails: Reconciler = () => {
  throw new Error('no');
};
const steps = <K extends Step['kind']>(rig: Rig, kind: K) => rig.steps.filter((step) => step.kind === kind) as Extract<Step, { kind: K }>[];

/** A rig, and the commands that it gets. */
function commanded(reconciler: Reconciler, config: ReconcileConfig = {}, onStep?: (step: Step, rig: Rig) => void) {
  const commands = new Subject<Command>();
  const rig: Rig = new Rig(reconciler, { commands, ...config }, onStep);
  const since = (): string[] => rig.told().slice(seen);
  let seen = 0;
  return {
    rig,
    commands,
    /** The steps since the last time. */
    news: (): string[] => {
      const told = since();
      seen += told.length;
      return told;
    },
    pause: (id?: string, why?: string) => {
      commands.next({ kind: 'pause', id, why });
    },
    resume: (id?: string) => {
      commands.next({ kind: 'resume', id });
    },
    discard: (id: string) => {
      commands.next({ kind: 'discard', id });
    },
  };
}

describe('C1: what is paused starts nothing', () => {
  test('C1 should let a ready id stay ready, and not enqueue it again', () => {
    const { rig, pause, resume, news } = commanded(slow);
    rig.trigger('running', 'web', 'mail');
    pause('web', 'moving house');
    expect(news()).toEqual(['enqueued running', 'started running', 'enqueued web', 'enqueued mail', 'paused web']);
    expect(steps(rig, 'paused')).toMatchObject([{ id: 'web', worker: 0, why: 'moving house' }]);
    rig.trigger('web');
    rig.clock.advance(100);
    expect(news()).toEqual(['merged web', 'succeeded running', 'started mail', 'succeeded mail']);
    resume('web');
    rig.clock.advance(100);
    expect(news()).toEqual(['resumed web', 'started web', 'succeeded web']);
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  test('C1 should merge events on an idle id into one mark, and run it once when it is resumed', () => {
    const { rig, pause, resume, news } = commanded(slow);
    pause('web');
    rig.trigger('web', 'web', 'web');
    rig.clock.advance(100);
    expect(news()).toEqual(['paused web', 'merged web', 'merged web', 'merged web']);
    resume('web');
    rig.clock.advance(100);
    expect(news()).toEqual(['resumed web', 'enqueued web', 'started web', 'succeeded web']);
  });

  test('Q1 should count the mark of an idle id, and refuse what is beyond the bound', () => {
    const { rig, pause, news } = commanded(slow, { workerQueueSize: 1 });
    pause('web');
    pause('mail');
    rig.trigger('web', 'web', 'mail');
    expect(news()).toEqual(['paused web', 'paused mail', 'merged web', 'merged web', 'rejected mail full']);
  });

  test('C1 should let what runs end, and hold its mark', () => {
    const { rig, pause, resume, news } = commanded(slow);
    rig.trigger('web');
    pause('web');
    rig.trigger('web');
    rig.clock.advance(100);
    expect(news()).toEqual(['enqueued web', 'started web', 'paused web', 'merged web', 'succeeded web']);
    resume('web');
    expect(news()).toEqual(['resumed web', 'enqueued web', 'started web']);
  });

  test('C1 should hold a wake-up that falls due, and one that does not waits on', () => {
    const { rig, pause, resume, news } = commanded(() => ({ requeueDelay: 50 }));
    rig.trigger('web');
    pause('web');
    rig.clock.advance(20);
    resume('web');
    news();
    rig.clock.advance(29);
    expect(news()).toEqual([]);
    rig.clock.advance(1);
    expect(news()).toEqual(['enqueued web', 'started web', 'requeued web']);
    pause('web');
    rig.clock.advance(500);
    expect(news()).toEqual(['paused web']);
    resume('web');
    expect(news()).toEqual(['resumed web', 'enqueued web', 'started web', 'requeued web']);
  });

  test('E1 should hold for a resumed id: it runs when its embargo ends', () => {
    const { rig, pause, resume } = commanded(fails, { backoff: () => 500, delayResolution: 10 });
    rig.trigger('web');
    pause('web');
    rig.trigger('web');
    rig.clock.advance(4);
    resume('web');
    expect(rig.starts('web')).toEqual([0]);
    rig.clock.advance(6);
    expect(rig.starts('web')).toEqual([0, 10]);
  });

  test('W6 should refuse a forced event', () => {
    const { rig, pause, resume } = commanded(slow);
    pause('web');
    rig.events.next({ id: 'web', force: true });
    expect(rig.told('rejected')).toEqual(['rejected web paused']);
    resume('web');
    pause();
    rig.events.next({ id: 'mail', force: true });
    expect(rig.told('rejected')).toEqual(['rejected web paused', 'rejected mail paused']);
  });

  test('C1 should pause the whole loop, and say so by a step without id or worker', () => {
    const { rig, pause, resume, news } = commanded(slow, { workerCount: 4 });
    rig.trigger('web');
    pause(undefined, 'the database is down');
    rig.trigger('web', 'mail', 'dns');
    rig.clock.advance(100);
    expect(steps(rig, 'paused')).toEqual([{ kind: 'paused', id: '', worker: -1, at: 0, why: 'the database is down' }]);
    expect(news()).toEqual(['enqueued web', 'started web', 'paused ', 'merged web', 'merged mail', 'merged dns', 'succeeded web']);
    resume();
    rig.clock.advance(100);
    expect(
      news()
        .filter((step) => step.startsWith('succeeded'))
        .sort(),
    ).toEqual(['succeeded dns', 'succeeded mail', 'succeeded web']);
  });

  test('C1 should keep the pause of the loop and that of an id apart', () => {
    const { rig, pause, resume } = commanded(slow);
    pause('web');
    pause();
    rig.trigger('web', 'mail');
    resume();
    rig.clock.advance(100);
    expect(rig.told('started')).toEqual(['started mail']);
    pause();
    resume('web');
    rig.clock.advance(100);
    expect(rig.told('started')).toEqual(['started mail']);
    resume();
    rig.clock.advance(100);
    expect(rig.told('started')).toEqual(['started mail', 'started web']);
  });
});

describe('C2: a pause outlives failures, retries and terms', () => {
  test('C2 should survive a reset', () => {
    const { rig, pause, resume, news } = commanded(slow);
    pause('web');
    rig.trigger('web');
    rig.reset.next();
    expect(news()).toEqual(['paused web', 'merged web', 'enqueued web', 'dropped web stopped']);
    rig.trigger('web');
    rig.clock.advance(100);
    expect(news()).toEqual(['merged web']);
    resume('web');
    expect(news()).toEqual(['resumed web', 'enqueued web', 'started web']);
  });

  test('C2, P2 should drop its work at a stop, a mark like a dirty one', () => {
    const { rig, pause, news } = commanded(slow);
    rig.trigger('running', 'web');
    pause('web');
    pause('mail');
    rig.trigger('mail');
    news();
    rig.stop.next();
    expect(news().sort()).toEqual(['dropped mail stopped', 'dropped web stopped', 'enqueued mail']);
    rig.clock.advance(100);
    expect(rig.end).toBe('completed');
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  test('P1 should wait for paused work while commands can resume it', () => {
    const { rig, pause, resume } = commanded(slow);
    pause('web');
    rig.trigger('web');
    rig.events.complete();
    rig.clock.advance(1e6);
    expect(rig.end).toBeUndefined();
    resume('web');
    rig.clock.advance(100);
    expect(rig.told('succeeded')).toEqual(['succeeded web']);
    expect(rig.end).toBe('completed');
  });

  test.each(['before', 'after'])('P1 should drop it once they have completed, %s the source', (when) => {
    const { rig, pause, commands, news } = commanded(slow);
    rig.trigger('running', 'web');
    pause('web');
    pause('mail');
    rig.trigger('mail');
    news();
    if (when === 'before') commands.complete();
    rig.events.complete();
    commands.complete();
    rig.clock.advance(5);
    expect(news().sort()).toEqual(['dropped mail stopped', 'dropped web stopped', 'enqueued mail', 'succeeded running']);
    expect(rig.end).toBe('completed');
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  test.each<[string, Command]>([
    ['an id', { kind: 'pause', id: 'web' }],
    ['the loop', { kind: 'pause' }],
  ])(
    'P1 should drop paused work at the end of the source if the commands that paused %s have completed, though nothing runs',
    (_, command) => {
      const rig: Rig = new Rig(slow, { commands: of(command) });
      rig.trigger('web');
      rig.events.complete();
      expect(rig.told('merged', 'enqueued', 'dropped')).toEqual(['merged web', 'enqueued web', 'dropped web stopped']);
      expect(rig.end).toBe('completed');
      expect(rig.left).toEqual(NOTHING_LEFT);
    },
  );

  test('P1 should not wait for a paused id without work', () => {
    const { rig, pause } = commanded(slow);
    pause('web');
    rig.events.complete();
    expect(rig.end).toBe('completed');
  });
});

describe('C3: discard', () => {
  test('C3 should drop what is ready or waits', () => {
    const { rig, discard, news } = commanded((id, context) => (id === 'poll' ? { requeueDelay: 1000 } : slow(id, context)));
    rig.trigger('poll', 'running', 'web');
    news();
    discard('poll');
    discard('web');
    expect(news()).toEqual(['dropped poll discarded', 'dropped web discarded']);
    rig.clock.advance(2000);
    expect(rig.told('started')).toEqual(['started poll', 'started running']);
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  test('C3 should forget the failures', () => {
    const { rig, discard } = commanded(fails, { backoff: () => 100 });
    rig.trigger('web');
    rig.clock.advance(50);
    discard('web');
    rig.trigger('web');
    expect(steps(rig, 'started').map(({ attempt }) => attempt)).toEqual([1, 1]);
  });

  test.each<[string, Reconciler, string[]]>([
    ['well', slow, ['succeeded web', 'enqueued web', 'dropped web discarded']],
    ['asking to run again', () => concat(ends(), of({ requeueDelay: 50 })), ['succeeded web', 'enqueued web', 'dropped web discarded']],
    [
      'badly',
      () =>
        concat(
          ends(),
          throwError(() => new Error('no')),
        ),
      ['dropped web discarded', 'enqueued web', 'dropped web discarded'],
    ],
  ])('C3 should let a run end that ends %s, and answer its mark then', (_, reconciler, expected) => {
    const { rig, discard, news } = commanded(reconciler);
    rig.trigger('web', 'web');
    news();
    discard('web');
    expect(news()).toEqual([]);
    rig.clock.advance(1000);
    expect(news()).toEqual(expected);
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  test('C3 should let a later event in that run mark it anew', () => {
    const { rig, discard, news } = commanded(slow);
    rig.trigger('web');
    discard('web');
    rig.trigger('web');
    rig.clock.advance(100);
    expect(news()).toEqual(['enqueued web', 'started web', 'merged web', 'succeeded web', 'enqueued web', 'started web', 'succeeded web']);
  });

  test('C3 should keep the pause', () => {
    const { rig, pause, discard, resume, news } = commanded(slow);
    pause('web');
    rig.trigger('web');
    discard('web');
    rig.trigger('web');
    rig.clock.advance(50);
    expect(news()).toEqual(['paused web', 'merged web', 'enqueued web', 'dropped web discarded', 'merged web']);
    resume('web');
    expect(rig.told('started')).toEqual(['started web']);
  });

  test('C3, S1 should keep an id abandoned whose promise is open', async () => {
    const { rig, discard, news } = commanded(() => new Promise(() => {}), { maxReconcileTime: 10, backoff: () => 10 });
    rig.trigger('web');
    rig.clock.advance(15);
    news();
    discard('web');
    expect(news()).toEqual(['dropped web discarded']);
    rig.trigger('web');
    await rig.clock.pass(1000);
    expect(rig.starts('web')).toEqual([0]);
  });
});

describe('C4: commands that change nothing', () => {
  test('C4 should be no step', () => {
    const { rig, pause, resume, discard } = commanded(slow);
    resume();
    resume('web');
    discard('web');
    pause('web');
    pause('web', 'again');
    resume('web');
    resume('web');
    expect(rig.told()).toEqual(['paused web', 'resumed web']);
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  test('C4 should pause an id whose lane is not there yet, and tell its worker', () => {
    const { rig, pause } = commanded(slow, { workerCount: 16 });
    pause('web');
    rig.trigger('web');
    rig.clock.advance(100);
    expect(rig.told()).toEqual(['paused web', 'merged web']);
    expect(rig.steps[0]?.worker).toBe(rig.steps[1]?.worker);
  });

  test('C3 should discard the retry of a failure for which a backoff is being asked', async () => {
    const commands = new Subject<Command>();
    const backoff = (): number => {
      commands.next({ kind: 'discard', id: 'web' });
      return 10;
    };
    const rig: Rig = new Rig(() => Promise.reject(new Error('no')), { backoff, commands });
    rig.trigger('web');
    await rig.clock.pass(100);
    expect(rig.told()).toEqual(['enqueued web', 'started web', 'requeued web', 'dropped web discarded']);
  });

  test('C4 should reject a malformed command once, also for an id that has no worker', () => {
    const workerHasher = (id: string): number => {
      if (id === 'broken') throw new Error('no hash');
      return id === 'elsewhere' ? -1 : 0;
    };
    const { rig, commands } = commanded(slow, { workerHasher });
    for (const id of ['web', 'broken', 'elsewhere']) commands.next({ kind: 'stop', id } as unknown as Command);
    expect(steps(rig, 'rejected').map(({ id, worker, reason }) => [id, worker, reason])).toEqual([
      ['web', 0, 'invalid_command'],
      ['broken', -1, 'invalid_command'],
      ['elsewhere', -1, 'invalid_command'],
    ]);
  });

  it.each<[unknown, string, string]>([
    [undefined, '', 'Expected `command` to be an object, got `undefined`'],
    ['pause', '', 'Expected `command` to be an object, got `pause` (string)'],
    [{ kind: 'stop', id: 'web' }, 'web', "Expected `kind` to be 'pause', 'resume' or 'discard', got `stop` (string)"],
    [{ kind: 'pause', id: '' }, '', 'Expected `id` to be a non-empty string or undefined, got `` (string)'],
    [{ kind: 'pause', id: 5 }, '', 'Expected `id` to be a non-empty string or undefined, got `5` (number)'],
    [{ kind: 'discard' }, '', 'Expected `id` to be a non-empty string, got `undefined`'],
    [{ kind: 'pause', why: 5 }, '', 'Expected `why` to be a string or undefined, got `5` (number)'],
  ])('C4 should reject the malformed command %j', (command, id, message) => {
    const { rig, commands } = commanded(slow);
    commands.next(command as Command);
    const [step] = steps(rig, 'rejected');
    expect(step).toMatchObject({ id, reason: 'invalid_command', error: new TypeError(message) });
    expect(step).not.toHaveProperty('trigger');
    rig.trigger('web');
    expect(rig.told('started')).toEqual(['started web']);
  });

  test('P4 should stop the loop if `commands` errors, as if a source did', () => {
    const { rig, commands } = commanded(slow);
    rig.trigger('web');
    commands.error(new Error('the store is gone'));
    rig.clock.advance(100);
    expect(rig.told()).toEqual(['enqueued web', 'started web', 'succeeded web']);
    expect(rig.end).toEqual({ error: new Error('the store is gone') });
  });

  test('C1 should be heard before the source', () => {
    const rig: Rig = new Rig(slow, { commands: concat(of({ kind: 'pause' } as const), NEVER) }, undefined, concat(of('web'), NEVER));
    rig.clock.advance(100);
    expect(rig.told()).toEqual(['paused ', 'merged web']);
  });

  test('A5 should deliver the step that causes a command before what the command does', () => {
    const commands = new Subject<Command>();
    const rig: Rig = new Rig(slow, { commands }, (step) => {
      if (step.kind === 'enqueued' && step.id === 'web') commands.next({ kind: 'discard', id: 'web' });
    });
    rig.trigger('running', 'web');
    expect(rig.told()).toEqual(['enqueued running', 'started running', 'enqueued web', 'dropped web discarded']);
  });

  test('P3 should let go of the commands', () => {
    const { rig, commands } = commanded(slow);
    rig.subscription.unsubscribe();
    expect(commands.observed).toBe(false);
    const stopped = commanded(slow);
    stopped.rig.stop.next();
    expect(stopped.commands.observed).toBe(false);
  });
});
