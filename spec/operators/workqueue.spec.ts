import { byPriority, constant, RetryError, TerminalError } from 'kreconciler/operators';
import { describe, expect, it } from 'vitest';
import { DrivenWorkqueue } from '../support/driven-workqueue.js';

const queue = (config: ConstructorParameters<typeof DrivenWorkqueue>[0] = {}) => new DrivenWorkqueue(config);

/** How `a` comes into each state of the table. The steps on the way there are taken. */
const given = {
  idle: () => queue(),
  ready: () => queue().offer('a'),
  'waiting, no failure': () => queue().offer('a').start().succeed(300),
  'waiting after a failure, under embargo': () => queue().offer('a').start().fail(),
  'waiting after a failure, embargo over': () => queue().offer('a').start().fail().advance(100),
  running: () => queue().offer('a').start(),
  'running, dirty': () => queue().offer('a').start().offer('a'),
  'running for the last time': () => queue({ maxItemRetries: 0 }).offer('a').start(),
  'running for the last time, dirty': () => queue({ maxItemRetries: 0 }).offer('a').start().offer('a'),
  'abandoned, waiting': () => queue().offer('a').start().abandon(),
  'abandoned, waiting, dirty': () => queue().offer('a').start().abandon().offer('a'),
  'abandoned, due': () => queue().offer('a').start().abandon().advance(300),
  'abandoned, dropped': () => queue().offer('a').start().abandon(new TerminalError('no')),
  'abandoned, dropped, dirty': () => queue().offer('a').start().abandon(new TerminalError('no')).offer('a'),
  'abandoned, dropped while dirty': () => queue().offer('a').start().offer('a').abandon(new TerminalError('no')),
};

interface Cell {
  readonly state: keyof typeof given;
  readonly steps: readonly string[];
  readonly then: string;
}

function cell(happens: (driven: DrivenWorkqueue) => unknown) {
  return ({ state, steps, then }: Cell): void => {
    const driven = given[state]();
    driven.take();
    happens(driven);
    expect(driven.told()).toEqual(steps);
    expect(driven.stateOf('a')).toBe(then);
  };
}

describe('the table: an event', () => {
  // prettier-ignore -- aligned
  it.each<Cell>([
    { state: 'idle', then: 'ready', steps: ['enqueued a, event'] },
    { state: 'ready', then: 'ready', steps: ['merged a'] },
    { state: 'waiting, no failure', then: 'ready', steps: ['enqueued a, event'] },
    { state: 'waiting after a failure, under embargo', then: 'waiting', steps: ['merged a'] },
    { state: 'waiting after a failure, embargo over', then: 'ready', steps: ['enqueued a, event'] },
    { state: 'running', then: 'running', steps: ['merged a'] },
    { state: 'running, dirty', then: 'running', steps: ['merged a'] },
    { state: 'abandoned, waiting', then: 'abandoned', steps: ['merged a'] },
    { state: 'abandoned, waiting, dirty', then: 'abandoned', steps: ['merged a'] },
    { state: 'abandoned, due', then: 'abandoned', steps: ['merged a'] },
    { state: 'abandoned, dropped', then: 'abandoned', steps: ['merged a'] },
  ])(
    'should make of an id that is $state: $then',
    cell((a) => a.offer('a')),
  );

  it('should consume the wake-up of the waiting id that it made ready', () => {
    const a = given['waiting, no failure']().offer('a');
    expect(a.armed.size).toBe(0);
    a.start().succeed().take();
    expect(a.advance(1000).told()).toEqual([]);
  });

  it('should be refused by a full queue if the id is idle', () => {
    const driven = queue({ workerQueueSize: 1 }).offer('x');
    driven.take();
    expect(driven.offer('a').told()).toEqual(['rejected a, full']);
    expect(driven.stateOf('a')).toBe('idle');
  });
});

describe('the table: a wake-up is due', () => {
  // prettier-ignore -- aligned
  it.each<Cell>([
    { state: 'waiting, no failure', then: 'ready', steps: ['enqueued a, requeue'] },
    { state: 'waiting after a failure, under embargo', then: 'ready', steps: ['enqueued a, retry'] },
    { state: 'waiting after a failure, embargo over', then: 'ready', steps: ['enqueued a, retry'] },
    { state: 'abandoned, waiting', then: 'abandoned', steps: [] },
    { state: 'abandoned, waiting, dirty', then: 'abandoned', steps: [] },
    { state: 'abandoned, dropped while dirty', then: 'abandoned', steps: [] },
  ])(
    'should make of an id that is $state: $then',
    cell((a) => a.advance(300)),
  );
});

describe('the table: its run ends well', () => {
  // prettier-ignore -- aligned
  it.each<Cell>([
    { state: 'running', then: 'idle', steps: ['succeeded a, attempt 1'] },
    { state: 'running, dirty', then: 'ready', steps: ['succeeded a, attempt 1', 'enqueued a, event'] },
  ])(
    'should make of an id that is $state: $then',
    cell((a) => a.succeed()),
  );
});

describe('the table: its run asks `requeueDelay`', () => {
  // prettier-ignore -- aligned
  it.each<Cell>([
    { state: 'running', then: 'waiting', steps: ['requeued a, attempt 1, delay 70'] },
    { state: 'running, dirty', then: 'ready', steps: ['succeeded a, attempt 1', 'enqueued a, event'] },
  ])(
    'should make of an id that is $state: $then',
    cell((a) => a.succeed(70)),
  );
});

describe('the table: its run fails', () => {
  // prettier-ignore -- aligned
  it.each<Cell>([
    { state: 'running', then: 'waiting', steps: ['requeued a, attempt 1, delay 300'] },
    { state: 'running, dirty', then: 'waiting', steps: ['requeued a, attempt 1, delay 100'] },
    { state: 'running for the last time', then: 'idle', steps: ['dropped a, retries, attempt 1'] },
    { state: 'running for the last time, dirty', then: 'waiting', steps: ['dropped a, retries, attempt 1'] },
  ])(
    'should make of an id that is $state: $then',
    cell((a) => a.fail()),
  );

  it('should spend the mark of a dirty id, which is woken at failure + `delayResolution`', () => {
    const a = given['running, dirty']().fail();
    a.take();
    expect(a.advance(99).told()).toEqual([]);
    expect(a.advance(1).told()).toEqual(['enqueued a, event']);
    expect(a.start().told()).toEqual(['started a, event, attempt 2']);
    expect(a.succeed().advance(1000).told()).toEqual(['succeeded a, attempt 2']);
  });

  it('should let a dirty id that is dropped start afresh once the embargo is over', () => {
    const a = given['running for the last time, dirty']().fail();
    a.take();
    expect(a.advance(99).told()).toEqual([]);
    expect(a.offer('a').told()).toEqual(['merged a']);
    expect(a.advance(1).told()).toEqual(['enqueued a, event']);
    expect(a.start().told()).toEqual(['started a, event, attempt 1']);
  });
});

describe('the table: its open promise settles', () => {
  // prettier-ignore -- aligned
  it.each<Cell>([
    { state: 'abandoned, waiting', then: 'waiting', steps: ['released a'] },
    { state: 'abandoned, waiting, dirty', then: 'waiting', steps: ['released a'] },
    { state: 'abandoned, due', then: 'ready', steps: ['released a', 'enqueued a, retry'] },
    { state: 'abandoned, dropped', then: 'idle', steps: ['released a'] },
    { state: 'abandoned, dropped, dirty', then: 'ready', steps: ['released a', 'enqueued a, event'] },
    { state: 'abandoned, dropped while dirty', then: 'waiting', steps: ['released a'] },
  ])(
    'should make of an id that is $state: $then',
    cell((a) => a.release('a')),
  );

  it('should make a dirty id ready at once after the embargo', () => {
    const a = given['abandoned, waiting, dirty']().advance(100);
    a.take();
    expect(a.release('a').told()).toEqual(['released a', 'enqueued a, event']);
  });

  it('should make a dirty id ready when the embargo ends', () => {
    const a = given['abandoned, waiting, dirty']().release('a');
    a.take();
    expect(a.advance(99).told()).toEqual([]);
    expect(a.advance(1).told()).toEqual(['enqueued a, event']);
  });

  it('should let its wait go on to its deadline if it is neither due nor dirty', () => {
    const a = given['abandoned, waiting']().advance(200).release('a');
    a.take();
    expect(a.advance(99).told()).toEqual([]);
    expect(a.advance(1).told()).toEqual(['enqueued a, retry']);
  });
});

describe('an abandoned id', () => {
  it('should not hold up the ids behind it', () => {
    const driven = queue().offer('a').offer('b').start().abandon();
    driven.take();
    expect(driven.start().told()).toEqual(['started b, event, attempt 1']);
    expect(driven.queue.abandoned).toBe(1);
  });

  it('should say so after the step that ended its run', () => {
    expect(queue().offer('a').start().abandon().told().slice(2)).toEqual(['requeued a, attempt 1, delay 300', 'abandoned a']);
    expect(queue().offer('a').start().abandon(new TerminalError('no')).told().slice(2)).toEqual([
      'dropped a, terminal, attempt 1',
      'abandoned a',
    ]);
  });
});

describe('S3, S4: the queue', () => {
  it('should start ready ids in the order in which they became ready', () => {
    const driven = queue().offer('a').offer('b').offer('c').offer('a');
    driven.take();
    expect(
      driven
        .start()
        .succeed()
        .start()
        .succeed()
        .start()
        .told()
        .filter((step) => step.startsWith('started')),
    ).toEqual(['started a, event, attempt 1', 'started b, event, attempt 1', 'started c, event, attempt 1']);
  });

  it('should put a dirty id at its end', () => {
    const driven = queue().offer('a').offer('b').start().offer('a').succeed().start();
    expect(driven.running().id).toBe('b');
  });

  it('should wake the ids of one tick in the order in which they came to wait', () => {
    const driven = queue().offer('b').start().succeed(250).offer('a').start().succeed(300);
    driven.take();
    expect(driven.advance(300).told()).toEqual(['enqueued b, requeue', 'enqueued a, requeue']);
    expect(driven.armed.size).toBe(0);
  });

  it('should have nothing to start when it is empty', () => {
    expect(queue().queue.start(0)).toBeUndefined();
  });
});

describe('A1: an event', () => {
  it.each([
    ['enqueued', () => queue()],
    ['merged', () => queue().offer('a')],
    ['rejected', () => queue({ workerQueueSize: 1 }).offer('x')],
  ])('should be carried by the step of its event, and by no other, where that is %s', (kind, driving) => {
    const driven = driving();
    const trigger = { id: 'a', stream: 'files', message: { ack: 1 } };
    driven.take();
    driven.queue.offer(trigger, 0);
    const steps = driven.take();
    expect(steps).toHaveLength(1);
    expect(steps[0]).toMatchObject({ kind, id: 'a', worker: 0, at: 0 });
    expect(steps[0]?.trigger).toBe(trigger);
    driven.start().fail().advance(300).start().succeed();
    expect(driven.take().every((step) => step.trigger === undefined)).toBe(true);
  });
});

describe('Q1: `workerQueueSize`', () => {
  it('should merge an id that is there already, even when the queue is full', () => {
    const driven = queue({ workerQueueSize: 1 }).offer('a');
    driven.take();
    expect(driven.offer('a').offer('b').told()).toEqual(['merged a', 'rejected b, full']);
  });

  it('should leave the wake-up of a waiting id in place when its event is refused', () => {
    const driven = queue({ workerQueueSize: 1 }).offer('a').start().succeed(300).offer('x');
    driven.take();
    expect(driven.offer('a').told()).toEqual(['rejected a, full']);
    expect(driven.stateOf('a')).toBe('waiting');
    expect(driven.advance(300).told()).toEqual(['enqueued a, requeue']);
  });

  it('should have room again as soon as an id has started', () => {
    const driven = queue({ workerQueueSize: 1 }).offer('a').start();
    driven.take();
    expect(driven.offer('b').offer('c').told()).toEqual(['enqueued b, event', 'rejected c, full']);
  });
});

describe('Q2: a full queue', () => {
  it('should never refuse a wake-up or a dirty id, nor count one', () => {
    const driven = queue({ workerQueueSize: 1 }).offer('a').start().fail().offer('b').start().offer('x').offer('b');
    driven.take();
    expect(driven.succeed().advance(300).told()).toEqual(['succeeded b, attempt 1', 'enqueued b, event', 'enqueued a, retry']);
    expect(driven.offer('y').start().offer('y').told()).toEqual(['rejected y, full', 'started x, event, attempt 1', 'enqueued y, event']);
  });
});

describe('Q3: `delayQueueSize`', () => {
  const full = () => queue({ delayQueueSize: 1 }).offer('x').start().succeed(300).offer('a').start();

  it.each([
    ['that fails', (a: DrivenWorkqueue) => a.fail(), { failure: 'thrown', error: 'broken' }],
    ['that asks to be requeued', (a: DrivenWorkqueue) => a.succeed(300), {}],
  ])('should drop beyond it a run %s: delay_queue_full', (_name, ends, failed) => {
    const a = full();
    a.take();
    ends(a);
    expect(a.take()).toEqual([{ kind: 'dropped', reason: 'delay_queue_full', id: 'a', worker: 0, at: 0, attempt: 1, took: 0, ...failed }]);
    expect(a.stateOf('a')).toBe('idle');
  });

  it('should not count an id that waits only for the end of its embargo because it was dropped while dirty', () => {
    const driven = queue({ delayQueueSize: 1, maxItemRetries: 0 }).offer('a').start().offer('a').fail().offer('b').start();
    driven.take();
    expect(driven.succeed(300).told()).toEqual(['requeued b, attempt 1, delay 300']);
  });

  it.each([
    ['a wake-up', (a: DrivenWorkqueue) => a.advance(300)],
    ['an event', (a: DrivenWorkqueue) => a.offer('x')],
  ])('should have room again after %s', (_name, leaves) => {
    const a = queue({ delayQueueSize: 1 }).offer('x').start().succeed(300);
    leaves(a);
    a.start().succeed().offer('b').start().take();
    expect(a.succeed(300).told()).toEqual(['requeued b, attempt 1, delay 300']);
  });
});

describe('R2: the delay of a retry', () => {
  it.each([
    ['the backoff', 'broken', 250],
    ['the `retryDelay` of the error', new RetryError('later', 400), 400],
    ['the `retryDelay` of its cause', new Error('outer', { cause: new RetryError('later', 400) }), 400],
    ['the next tick for `retryDelay: 0`', new RetryError('now', 0), 100],
    ['never below the resolution', new RetryError('soon', 7), 100],
    ['the backoff for an invalid `retryDelay`', new RetryError('odd', NaN), 250],
  ])('should be %s', (_name, error, delay) => {
    const a = queue({ backoff: constant(250) })
      .offer('a')
      .start();
    a.take();
    expect(a.fail(error).take()).toEqual([
      { kind: 'requeued', id: 'a', worker: 0, at: 0, attempt: 1, took: 0, delay, failure: 'thrown', error },
    ]);
  });

  it('should be asked of the backoff with the failures in a row and the error', () => {
    const asked: unknown[] = [];
    const a = queue({ backoff: (...args) => asked.push(args) && 100 })
      .offer('a')
      .start();
    a.fail('one').advance(100).start().fail('two').advance(100).start().succeed().offer('a').start().fail('anew');
    expect(asked).toEqual([
      [1, 'one'],
      [2, 'two'],
      [1, 'anew'],
    ]);
  });

  it('T3 should be `delayResolution` where the backoff throws or returns no delay', () => {
    const throws = (): number => {
      throw new Error('no');
    };
    for (const backoff of [throws, () => NaN, () => -1, () => Infinity, () => '5' as unknown as number]) {
      const a = queue({ backoff }).offer('a').start();
      a.take();
      expect(a.fail().told()).toEqual(['requeued a, attempt 1, delay 100']);
    }
  });

  it('should not retry a terminal error', () => {
    const a = queue().offer('a').start();
    a.take();
    const error = new TerminalError('no such account');
    expect(a.fail(error).take()).toMatchObject([{ kind: 'dropped', reason: 'terminal', attempt: 1, failure: 'thrown', error }]);
    expect(a.queue.size).toBe(0);
  });
});

describe('R3, R4: the budget', () => {
  it.each([
    [0, ['started 1', 'dropped 1']],
    [1, ['started 1', 'requeued 1', 'started 2', 'dropped 2']],
    [2, ['started 1', 'requeued 1', 'started 2', 'requeued 2', 'started 3', 'dropped 3']],
  ])('should be so many retries after the first run: `maxItemRetries: %d`', (maxItemRetries, runs) => {
    const a = queue({ maxItemRetries }).offer('a');
    while (a.queue.hasReady) a.start().fail().advance(300);
    expect(a.take().flatMap((step) => ('attempt' in step ? [`${step.kind} ${step.attempt}`] : []))).toEqual(runs);
  });

  it('should be whole again after a success, a requeue included', () => {
    for (const requeueDelay of [0, 300]) {
      const a = queue({ maxItemRetries: 1 }).offer('a').start().fail().advance(300).start().succeed(requeueDelay).offer('a').start();
      a.take();
      expect(a.fail().told()).toEqual(['requeued a, attempt 1, delay 300']);
    }
  });

  it('should never be exhausted by polling', () => {
    const a = queue({ maxItemRetries: 0 }).offer('a');
    for (let poll = 0; poll < 100; poll++) a.start().succeed(100).advance(100);
    expect(a.take().filter(({ kind }) => kind === 'requeued')).toHaveLength(100);
  });

  it('should be forgotten with a dropped id: its next event starts it afresh', () => {
    const a = given['running for the last time']().fail();
    a.take();
    expect(a.offer('a').start().told()).toEqual(['enqueued a, event', 'started a, event, attempt 1']);
  });
});

describe('E1: after a failure', () => {
  it('should let an event pull the retry forward to the end of the embargo, not further', () => {
    const a = given['waiting after a failure, under embargo']().advance(99).offer('a');
    a.take();
    expect(a.advance(1).start().told()).toEqual(['enqueued a, event', 'started a, event, attempt 2']);
  });

  it('should be rounded up to the grid like every delay', () => {
    const a = queue().advance(1).offer('a').start().fail().offer('a');
    a.take();
    expect(a.advance(198).told()).toEqual([]);
    expect(a.advance(1).told()).toEqual(['enqueued a, event']);
  });

  it('should let an early run that fails spend no budget, and leave the deadline where it was', () => {
    const a = queue({ maxItemRetries: 1, backoff: constant(1000) })
      .offer('a')
      .start()
      .fail();
    a.take();
    for (const left of [900, 800, 700]) {
      expect(a.offer('a').advance(100).start().fail().told()).toEqual([
        'merged a',
        'enqueued a, event',
        'started a, event, attempt 2',
        `requeued a, attempt 2, delay ${left}`,
      ]);
    }
    expect(a.advance(699).told()).toEqual([]);
    expect(a.advance(1).start().fail().told()).toEqual([
      'enqueued a, retry',
      'started a, retry, attempt 2',
      'dropped a, retries, attempt 2',
    ]);
  });

  it('should let the `retryDelay` of an early run move the deadline later, and not earlier', () => {
    const later = given['waiting after a failure, embargo over']().offer('a').start();
    later.take();
    expect(later.fail(new RetryError('later', 400)).told()).toEqual(['requeued a, attempt 2, delay 400']);
    expect(later.advance(399).told()).toEqual([]);
    expect(later.advance(1).told()).toEqual(['enqueued a, retry']);

    const earlier = given['waiting after a failure, embargo over']().offer('a').start();
    earlier.take();
    expect(earlier.fail(new RetryError('soon', 100)).told()).toEqual(['requeued a, attempt 2, delay 200']);
  });

  it('should retry an early run that fails after its deadline at the next tick', () => {
    const a = given['waiting after a failure, embargo over']().offer('a').start().advance(450);
    a.take();
    expect(a.fail().told()).toEqual(['requeued a, attempt 2, delay 100']);
    expect(a.advance(149).told()).toEqual([]);
    expect(a.advance(1).start().fail().told()).toEqual([
      'enqueued a, retry',
      'started a, retry, attempt 2',
      'requeued a, attempt 2, delay 300',
    ]);
  });

  it('T4 should report the wait that an early run leaves in place as no longer than it was, though the clock is set back', () => {
    const a = queue({ backoff: constant(1000) })
      .offer('a')
      .start()
      .fail()
      .advance(500)
      .offer('a')
      .start();
    a.now = -100_000;
    a.take();
    expect(a.fail().told()).toEqual(['requeued a, attempt 2, delay 1000']);
  });

  it('T4 should leave the deadline where it was after an early run that fails, though the clock is set forward', () => {
    const a = queue({ maxItemRetries: 1, backoff: constant(1000) })
      .offer('a')
      .start()
      .fail();
    const [embargo, deadline] = [...a.armed].sort((x, y) => x.due - y.due);
    a.queue.wake(embargo!, 100);
    a.now = 1_000_000;
    a.offer('a').start().take();
    expect(a.fail().told()).toEqual(['requeued a, attempt 2, delay 100']);
    a.queue.wake([...a.armed].at(-1)!, 1_000_100);
    expect(a.told()).toEqual([]);
    a.queue.wake(deadline!, 1_000_900);
    expect(a.start().fail().told()).toEqual(['enqueued a, retry', 'started a, retry, attempt 2', 'dropped a, retries, attempt 2']);
  });

  it('T4 should hold though the clock is set forward', () => {
    const a = given['waiting after a failure, under embargo']();
    a.now = 5000;
    a.take();
    expect(a.offer('a').told()).toEqual(['merged a']);
    a.queue.wake([...a.armed].sort((x, y) => x.due - y.due)[0]!, 5000);
    expect(a.told()).toEqual(['enqueued a, event']);
  });

  it('T4 should hold though the clock is set back and the deadline of before comes first', () => {
    const a = queue({ backoff: constant(1000) })
      .offer('a')
      .start()
      .fail()
      .advance(950)
      .offer('a')
      .start();
    a.now = 500;
    a.fail().take();
    const [deadline, embargo] = [...a.armed];
    a.queue.wake(deadline!, 550);
    expect(a.told()).toEqual([]);
    a.queue.wake(embargo!, 600);
    expect(a.told()).toEqual(['enqueued a, retry']);
  });

  it('T4 should hold though the clock is set back and a tick of before is due', () => {
    const a = queue().advance(1000).offer('x').start().succeed(100).offer('a').start();
    a.now = 950;
    a.fail(new RetryError('soon', 150)).take();
    const [old, ...own] = [...a.armed];
    a.queue.wake(old!, 1000);
    expect(a.told()).toEqual(['enqueued x, requeue']);
    for (const tick of own) a.queue.wake(tick, 1050);
    expect(a.told()).toEqual(['enqueued a, retry']);
  });
});

describe('streams', () => {
  const streamsOfRuns = (a: DrivenWorkqueue) => a.take().flatMap((step) => (step.kind === 'started' ? [step.streams] : []));

  it('should name all who asked for a run, once, in the order in which they asked', () => {
    expect(streamsOfRuns(queue().offer('a', 's').offer('a', 't').offer('a').offer('a', 's').start())).toEqual([['s', 't']]);
  });

  it('should name those who asked during a run for the next one only', () => {
    expect(streamsOfRuns(queue().offer('a', 's').start().offer('a', 't').succeed().start())).toEqual([['s'], ['t']]);
  });

  it('should keep those who asked for a failed run, and add those who pulled its retry forward', () => {
    const a = queue().offer('a', 's').start().offer('a', 't').fail().offer('a', 'u').advance(100).start();
    expect(streamsOfRuns(a)).toEqual([['s'], ['s', 't', 'u']]);
  });

  it('should name nobody for a requeue, which the id asked for itself', () => {
    expect(streamsOfRuns(queue().offer('a', 's').start().succeed(100).advance(100).start())).toEqual([['s'], []]);
  });

  it('should not name one whose event was refused', () => {
    const a = queue({ workerQueueSize: 1 })
      .offer('a', 's')
      .start()
      .succeed(100)
      .offer('x')
      .offer('a', 't')
      .start()
      .succeed()
      .advance(100)
      .start();
    expect(streamsOfRuns(a)).toEqual([['s'], [], []]);
  });

  it('R4 should not name those who asked before it was dropped', () => {
    const dirty = queue({ maxItemRetries: 0 }).offer('a', 's').start().offer('a', 't').fail().advance(100).start();
    expect(streamsOfRuns(dirty)).toEqual([['s'], ['t']]);
    const open = queue({ maxItemRetries: 0 }).offer('a', 's').start().abandon().offer('a', 't').release('a').start();
    expect(streamsOfRuns(open)).toEqual([['s'], ['t']]);
    const lost = queue().offer('a', 's').start().abandon().reset().offer('a', 't').release('a').start();
    expect(streamsOfRuns(lost)).toEqual([['s'], ['t']]);
    const cut = queue().offer('a', 's').start().reset(true).offer('a', 't').release('a').start();
    expect(streamsOfRuns(cut)).toEqual([['s'], ['t']]);
  });
});

describe('times', () => {
  it('should be how long an id was ready, `waited`, and how long its run was, `took`', () => {
    const a = queue().offer('a').advance(30).start().advance(50).succeed();
    expect(a.take()).toMatchObject([
      { kind: 'enqueued', at: 0 },
      { kind: 'started', at: 30, waited: 30 },
      { kind: 'succeeded', at: 80, took: 50 },
    ]);
  });

  it('should never be below 0, though the clock was set back', () => {
    const a = queue().advance(100).offer('a');
    a.now = 50;
    a.start();
    a.now = 0;
    expect(a.fail().take()).toMatchObject([{ kind: 'enqueued' }, { kind: 'started', waited: 0 }, { kind: 'requeued', took: 0 }]);
  });
});

describe('P2: stop', () => {
  // prettier-ignore -- aligned
  it.each<Cell>([
    { state: 'idle', then: 'idle', steps: [] },
    { state: 'ready', then: 'idle', steps: ['dropped a, stopped, attempt 1'] },
    { state: 'waiting, no failure', then: 'idle', steps: ['dropped a, stopped, attempt 1'] },
    { state: 'waiting after a failure, under embargo', then: 'idle', steps: ['dropped a, stopped, attempt 2'] },
    { state: 'waiting after a failure, embargo over', then: 'idle', steps: ['dropped a, stopped, attempt 2'] },
    { state: 'running', then: 'running', steps: [] },
    { state: 'running, dirty', then: 'running', steps: [] },
    { state: 'abandoned, waiting', then: 'abandoned', steps: ['dropped a, stopped, attempt 2'] },
    { state: 'abandoned, due', then: 'abandoned', steps: ['dropped a, stopped, attempt 2'] },
    {
      state: 'abandoned, waiting, dirty',
      then: 'abandoned',
      steps: ['dropped a, stopped, attempt 2', 'enqueued a, event', 'dropped a, stopped, attempt 1'],
    },
    { state: 'abandoned, dropped', then: 'abandoned', steps: [] },
    { state: 'abandoned, dropped, dirty', then: 'abandoned', steps: ['enqueued a, event', 'dropped a, stopped, attempt 1'] },
    { state: 'abandoned, dropped while dirty', then: 'abandoned', steps: ['enqueued a, event', 'dropped a, stopped, attempt 1'] },
  ])(
    'should make of an id that is $state: $then',
    cell((a) => a.stop()),
  );

  // prettier-ignore -- aligned
  it.each<Cell & { readonly ends: (a: DrivenWorkqueue) => unknown }>([
    { state: 'running', then: 'idle', ends: (a) => a.succeed(), steps: ['succeeded a, attempt 1'] },
    { state: 'running', then: 'idle', ends: (a) => a.succeed(300), steps: ['succeeded a, attempt 1'] },
    { state: 'running', then: 'idle', ends: (a) => a.fail(), steps: ['dropped a, stopped, attempt 1'] },
    {
      state: 'running, dirty',
      then: 'idle',
      ends: (a) => a.succeed(),
      steps: ['succeeded a, attempt 1', 'enqueued a, event', 'dropped a, stopped, attempt 1'],
    },
    {
      state: 'running, dirty',
      then: 'idle',
      ends: (a) => a.fail(),
      steps: ['dropped a, stopped, attempt 1', 'enqueued a, event', 'dropped a, stopped, attempt 1'],
    },
    { state: 'running', then: 'abandoned', ends: (a) => a.abandon(), steps: ['dropped a, stopped, attempt 1', 'abandoned a'] },
  ])('should answer a run that ends while stopping with: $steps', ({ ends, ...expectation }) => {
    cell((a) => {
      a.stop();
      ends(a);
    })(expectation);
  });

  it('should report the error of a run that fails while stopping', () => {
    expect(given.running().stop().fail('late').take().at(-1)).toMatchObject({
      kind: 'dropped',
      reason: 'stopped',
      failure: 'thrown',
      error: 'late',
    });
  });

  it('should leave nothing armed', () => {
    for (const state of Object.values(given)) expect(state().stop().armed.size).toBe(0);
  });

  it('should drop ready ids in the order in which they would have started', () => {
    const driven = queue().offer('b').offer('a');
    driven.take();
    expect(driven.stop().told()).toEqual(['dropped b, stopped, attempt 1', 'dropped a, stopped, attempt 1']);
  });
});

describe('L2: reset', () => {
  // prettier-ignore -- aligned
  it.each<Cell>([
    { state: 'ready', then: 'idle', steps: ['dropped a, stopped, attempt 1'] },
    { state: 'waiting after a failure, under embargo', then: 'idle', steps: ['dropped a, stopped, attempt 2'] },
    { state: 'running', then: 'idle', steps: ['dropped a, stopped, attempt 1'] },
    {
      state: 'running, dirty',
      then: 'idle',
      steps: ['dropped a, stopped, attempt 1', 'enqueued a, event', 'dropped a, stopped, attempt 1'],
    },
    { state: 'abandoned, waiting', then: 'abandoned', steps: ['dropped a, stopped, attempt 2'] },
  ])(
    'should make of an id that is $state: $then',
    cell((a) => a.reset()),
  );

  it('should keep a run whose promise is open abandoned', () => {
    const a = given.running();
    a.take();
    expect(a.reset(true).told()).toEqual(['dropped a, stopped, attempt 1', 'abandoned a']);
    expect(a.offer('a').release('a').start().told()).toEqual([
      'merged a',
      'released a',
      'enqueued a, event',
      'started a, event, attempt 1',
    ]);
  });

  it('should let the queue go on empty, and forget all failures', () => {
    const a = given['waiting after a failure, under embargo']().reset();
    a.take();
    expect(a.offer('a').start().fail().told()).toEqual([
      'enqueued a, event',
      'started a, event, attempt 1',
      'requeued a, attempt 1, delay 300',
    ]);
  });

  it('should not undo a stop', () => {
    const a = given.running().stop();
    a.reset();
    a.take();
    expect(a.offer('a').start().fail().told().at(-1)).toBe('dropped a, stopped, attempt 1');
  });
});

describe('giving up', () => {
  // prettier-ignore -- aligned
  it.each<Cell>([
    { state: 'ready', then: 'idle', steps: ['dropped a, stopped, attempt 1'] },
    {
      state: 'running, dirty',
      then: 'idle',
      steps: ['dropped a, stopped, attempt 1', 'enqueued a, event', 'dropped a, stopped, attempt 1'],
    },
    { state: 'abandoned, waiting', then: 'idle', steps: ['dropped a, stopped, attempt 2'] },
    { state: 'abandoned, dropped', then: 'idle', steps: [] },
  ])(
    'should make of an id that is $state: $then',
    cell((a) => a.giveUp()),
  );

  it('should leave nothing behind', () => {
    for (const state of Object.values(given)) {
      const { queue, armed } = state().giveUp();
      expect([queue.size, queue.abandoned, queue.running, queue.hasReady, armed.size]).toEqual([0, 0, 0, false, 0]);
    }
  });
});

it.each(['__proto__', 'constructor', 'hasOwnProperty', ' '])('Q4 should take %j for an ordinary id', (id) => {
  const driven = queue().offer(id).start().succeed();
  expect(driven.take().map((step) => [step.kind, step.id])).toEqual([
    ['enqueued', id],
    ['started', id],
    ['succeeded', id],
  ]);
  expect(driven.queue.size).toBe(0);
});

it('W3 should count an event that came while its id was ready by a wake-up', () => {
  const driven = queue({ order: byPriority({ ageing: 1000 }), maxItemRetries: Infinity })
    .offer('woken')
    .start()
    .succeed(100)
    .advance(100)
    .offer('woken')
    .start()
    .ask({ id: 'woken', priority: -1 })
    .fail()
    .advance(300)
    .ask({ id: 'minor', priority: -0.5 });
  driven.take();
  expect(driven.start().told()).toEqual(['started woken, retry, attempt 2']);
});

it('should say so when a run ends that never began', () => {
  expect(() => queue().succeed()).toThrow('No id is running');
  expect(() => queue().fail()).toThrow('No id is running');
});
