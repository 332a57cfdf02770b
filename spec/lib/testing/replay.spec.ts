import { setTimeout } from 'node:timers/promises';
import {
  type Command,
  constant,
  reconcile,
  reconcileSettings,
  type ReconcileConfig,
  type Reconciler,
  RetryError,
  type Step,
  TerminalError,
  type Trigger,
} from 'kreconciler/operators';
import { journal, replay, toMarbles, type VirtualClock, virtualTime } from 'kreconciler/testing';
import { reconcileTerms } from '../../../operators/reconcile-terms.js';
import { LaneTerm } from '../../../operators/tenure.js';
import { NEVER, of, Subject, throwError } from 'rxjs';
import { describe, expect, it } from 'vitest';

/** What happens to a loop from outside: an event for an id, or the end of a term, or a stop. */
type Happening = readonly [at: number, what: string];

interface Recording {
  readonly lines: string[];
  readonly steps: Step[];
}

/** Runs a loop in virtual time, and keeps its journal. */
function record(
  happenings: readonly Happening[],
  reconciler: (sleep: (ms: number) => Promise<void>) => Reconciler,
  config: ReconcileConfig = {},
  until = 20_000,
): Promise<Recording> {
  return virtualTime(async (clock) => {
    const [events, reset, stop] = [new Subject<{ id: string; stream: string }>(), new Subject<void>(), new Subject<void>()];
    const lines: string[] = [];
    const steps: Step[] = [];
    const steps$ = events.pipe(
      reconcile(
        reconciler((ms) => clock.sleep(ms)),
        { ...config, reset, stop, scheduler: clock.scheduler },
      ),
    );
    const loop = steps$.subscribe((step) => steps.push(step));
    const recorded = new Subject<Step>();
    recorded.pipe(journal(config)).subscribe((line) => lines.push(line));
    for (const [at, what] of happenings) {
      await clock.advance(at - clock.now());
      if (what === 'reset') reset.next();
      else if (what === 'stop') stop.next();
      else events.next({ id: what, stream: 'files' });
    }
    await clock.advance(until - clock.now());
    loop.unsubscribe();
    for (const step of steps) recorded.next(step);
    return { lines, steps };
  });
}

const kinds = (steps: readonly Step[]): string[] => steps.map(({ at, kind, id }) => `${at} ${kind} ${id}`);

describe('journal', () => {
  it('should write one line of JSON a step, after one that says what the loop is', async () => {
    const { lines, steps } = await record([[10, 'a']], () => () => undefined, { workerCount: 2, maxItemRetries: Infinity });
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      {
        journal: 'kreconciler',
        version: 1,
        config: expect.objectContaining({ workerCount: 2, maxItemRetries: 'Infinity', delayResolution: 250 }) as unknown,
      },
      { line: 2, ...steps[0], trigger: { id: 'a', stream: 'files' } },
      { line: 3, ...steps[1] },
      { line: 4, ...steps[2] },
    ]);
    expect(lines.join('')).not.toContain('\n');
  });

  it('should keep what matters of errors, and survive those that are none', async () => {
    const errors = [
      new RetryError('later', 500),
      new TerminalError('never'),
      Object.assign(new Error('named'), { name: 'MyError' }),
      undefined,
      'text',
    ];
    for (const error of errors) {
      const { lines } = await record([[0, 'a']], () => () => throwError(() => error), { maxItemRetries: 0 }, 100);
      const { steps } = await replay(lines);
      expect(kinds(steps)).toHaveLength(3);
      expect(steps.at(-1)).toMatchObject({
        error: error instanceof Error ? { name: error.name, message: error.message } : { message: expect.any(String) as unknown },
      });
    }
  });

  it('should refuse a bad configuration at once', () => {
    expect(() => journal({ workerCount: 0 })).toThrow('Expected `workerCount`');
  });
});

describe('replay', () => {
  const outcomes: Reconciler[] = [
    () => undefined,
    () => ({ requeueDelay: 700 }),
    () => ({ error: new Error('reported') }),
    () => {
      throw new RetryError('thrown', 300);
    },
    () => 5 as unknown as undefined,
    () => {
      throw new TerminalError('terminal');
    },
  ];

  it.each(outcomes.map((outcome, i) => [i, outcome] as const))('should run a recording again as it was (%i)', async (_, outcome) => {
    const { lines, steps } = await record(
      [
        [10, 'a'],
        [10, 'b'],
        [400, 'a'],
        [2000, 'c'],
      ],
      () => outcome,
      { backoff: constant(250), maxItemRetries: 2, delayResolution: 100 },
      3000,
    );
    const again = await replay(lines, { config: { backoff: constant(250) } });
    expect(kinds(again.steps)).toEqual(kinds(steps));
    expect(again.diagram).toBe(toMarbles(steps));
  });

  it('should hold a run as long as it took, though it outlived its timeout', async () => {
    const config = { maxReconcileTime: 1000, backoff: constant(250) };
    const { lines, steps } = await record(
      [
        [0, 'a'],
        [1200, 'b'],
        [1300, 'a'],
      ],
      (sleep) => (id) => sleep(id === 'a' ? 1500 : 10),
      config,
      6000,
    );
    expect(kinds(steps)).toContain('1500 released a');
    const again = await replay(lines, { config: { backoff: constant(250) } });
    expect(kinds(again.steps)).toEqual(kinds(steps));
  });

  it.each(['stop', 'reset'])('should find the %s that the steps tell of', async (cut) => {
    const happenings: Happening[] = [[0, 'a'], [0, 'b'], [5, cut], ...(cut === 'reset' ? ([[100, 'c']] as const) : [])];
    const { lines, steps } = await record(happenings, (sleep) => () => sleep(10), {}, 1000);
    expect(kinds(steps)).toContain('5 dropped b');
    expect(kinds((await replay(lines)).steps)).toEqual(kinds(steps));
  });

  it('should find the stop during which a run failed', async () => {
    const failing = (sleep: (ms: number) => Promise<void>) => () => sleep(10).then(() => Promise.reject(new Error('no')));
    const { lines, steps } = await record(
      [
        [0, 'a'],
        [5, 'stop'],
      ],
      failing,
    );
    expect(kinds(steps)).toEqual(['0 enqueued a', '0 started a', '10 dropped a']);
    expect(kinds((await replay(lines)).steps)).toEqual(kinds(steps));
  });

  it('should run the events of a recording against the real reconciler', async () => {
    const { lines } = await record(
      [[10, 'a']],
      () => () => {
        throw new Error('the bug');
      },
      { backoff: constant(250) },
      600,
    );
    const { steps } = await replay(lines, { reconciler: () => undefined, config: { backoff: constant(250) } });
    expect(kinds(steps)).toEqual(['10 enqueued a', '10 started a', '10 succeeded a']);
  });

  it('should run in a virtual time that is given, and as long as it is told to', async () => {
    const { lines } = await record([[10, 'a']], () => () => undefined);
    await virtualTime(async (clock) => {
      await clock.advance(333);
      const { diagram } = await replay(lines, { clock, reconciler: () => clock.sleep(100), further: 100 });
      expect(diagram).toBe(['enqueued   a', 'started    a', 'succeeded   100ms a'].join('\n'));
    });
  });

  it('should run inside of another virtual time', () =>
    virtualTime(async () => {
      const { lines, steps } = await record([[10, 'web']], (sleep) => () => sleep(100));
      expect(kinds((await replay(lines)).steps)).toEqual(kinds(steps));
    }));

  it.each<[string, (outer: VirtualClock) => Reconciler]>([
    ['a real timer', () => () => setTimeout(50)],
    ['the virtual time around it', (outer) => () => outer.sleep(50)],
  ])('should say what a reconciler must wait by, if it waits for %s', (_, reconciler) =>
    virtualTime(async (outer) => {
      const { lines } = await record([[10, 'web']], () => () => undefined);
      await expect(replay(lines, { reconciler: reconciler(outer) })).rejects.toThrow(
        /the code under test does:\n.*replay\.spec\.ts.*\nA `reconciler` that waits must do so by the clock of the replay: `virtualTime\(\(clock\) =>/su,
      );
    }),
  );

  it('should refuse a clock that is none, and a reconciler that is none', async () => {
    const { lines } = await record([[10, 'web']], () => () => undefined);
    await expect(replay(lines, { clock: {} as VirtualClock })).rejects.toThrow('Expected `clock` to be the clock of a `virtualTime`, got');
    await expect(replay(lines, { reconciler: 5 as unknown as Reconciler })).rejects.toThrow(
      'Expected `reconciler` to be a function, got `5`',
    );
  });

  it('should find lanes and delays without the hasher and the backoff of the recording', async () => {
    const config = { workerCount: 3, workerHasher: (id: string) => (id === 'unrouted' ? -1 : id.length % 3), maxItemRetries: 2 };
    const failing: Reconciler = () => {
      throw new Error('no');
    };
    const { lines, steps } = await record(
      [
        [0, 'web'],
        [0, 'unrouted'],
        [300, 'queue'],
      ],
      () => failing,
      config,
    );
    const again = await replay(lines);
    expect(again.steps.map(({ at, kind, worker }) => [at, kind, worker])).toEqual(steps.map(({ at, kind, worker }) => [at, kind, worker]));
  });

  it('should pause, resume and discard as it was done, force what was forced, and supersede what was', async () => {
    const config = { workerConcurrency: 2, cooldown: 500, backoff: constant(250) };
    const acts: [at: number, act: Command | Trigger][] = [
      [0, { id: 'web' }],
      [10, { id: 'web' }],
      [300, { kind: 'pause', id: 'db', why: 'moving' }],
      [310, { id: 'db' }],
      [400, { id: 'web', force: true }],
      [900, { kind: 'resume', id: 'db' }],
      [910, { kind: 'discard', id: 'db' }],
      [1000, { kind: 'pause' }],
      [1100, { id: 'cache', priority: 5 }],
      [1500, { kind: 'resume' }],
    ];
    const lines: string[] = [];
    const steps = await virtualTime(async (clock) => {
      const [events, commands, seen] = [new Subject<Trigger>(), new Subject<Command>(), [] as Step[]];
      const reconciler: Reconciler = (_, { superseded }) => clock.sleep(100, superseded);
      const loop = events
        .pipe(reconcile(reconciler, { ...config, commands, scheduler: clock.scheduler }))
        .subscribe((step) => seen.push(step));
      for (const [at, act] of acts) {
        await clock.advance(at - clock.now());
        if ('kind' in act) commands.next(act);
        else events.next(act);
      }
      await clock.advance(5000);
      loop.unsubscribe();
      return seen;
    });
    of(...steps)
      .pipe(journal(config))
      .subscribe((line) => lines.push(line));
    expect(new Set(steps.map(({ kind }) => kind))).toContain('paused');
    expect(steps.filter((step) => 'failure' in step && step.failure === 'superseded')).toHaveLength(1);
    const again = await replay(lines, { config: { backoff: constant(250) } });
    expect(kinds(again.steps)).toEqual(kinds(steps));
    expect(again.diagram).toMatch(/paused .*\nresumed .*= the loop/su);
  });

  describe('should find when shards came and went', () => {
    /** A shard for ids that begin with a, one for those with b; a run takes 10 ms for each letter of its id. */
    type Act = string | { readonly shard: number; readonly what: 'begun' | 'revoked' | 'lost' };
    const a = (what: 'begun' | 'revoked' | 'lost'): Act => ({ shard: 0, what });
    const b = (what: 'begun' | 'revoked' | 'lost'): Act => ({ shard: 1, what });
    it.each<[string, [number, Act][]]>([
      [
        'what is not owned',
        [
          [0, 'apple'],
          [10, a('begun')],
          [20, 'apple'],
          [30, 'banana'],
          [40, b('begun')],
          [200, 'banana'],
        ],
      ],
      [
        'a move that nothing shows but the next event',
        [
          [0, a('begun')],
          [0, 'apple'],
          [300, a('revoked')],
          [310, 'apple'],
          [320, a('begun')],
          [330, 'apple'],
        ],
      ],
      [
        'a move of what is ready and waits, and of a run that ends',
        [
          [0, a('begun')],
          [0, b('begun')],
          [0, 'avocado'],
          [0, 'apple'],
          [10, 'bean'],
          [20, a('revoked')],
          [300, a('begun')],
          [310, 'apple'],
        ],
      ],
      [
        'a mark that its run leaves',
        [
          [0, a('begun')],
          [0, 'apple'],
          [10, 'apple'],
          [20, a('revoked')],
          [500, 'apple'],
        ],
      ],
      [
        'a run that fails while its shard moves',
        [
          [0, a('begun')],
          [0, 'a!'],
          [5, a('revoked')],
          [300, a('begun')],
          [310, 'a!'],
        ],
      ],
      [
        'a run that goes beyond the grace',
        [
          [0, a('begun')],
          [0, 'a'.repeat(30)],
          [0, 'apple'],
          [5, a('revoked')],
          [600, a('begun')],
          [610, 'apple'],
        ],
      ],
      [
        'a term that was lost, while the other shard goes on',
        [
          [0, a('begun')],
          [0, b('begun')],
          [0, 'avocado'],
          [0, 'apple'],
          [0, 'banana'],
          [20, a('lost')],
          [40, a('begun')],
          [50, 'apple'],
        ],
      ],
    ])('%s', async (_, acts) => {
      const settings = reconcileSettings({
        workerCount: 2,
        workerHasher: (id) => id.charCodeAt(0) - 97,
        shutdownGrace: 100,
        maxItemRetries: 0,
      });
      const lines: string[] = [];
      const steps = await virtualTime(async (clock) => {
        const [inputs, terms, seen] = [new Subject<Trigger | LaneTerm>(), new Map<number, Subject<'revoked'>>(), [] as Step[]];
        const reconciler: Reconciler = async (id) => {
          await clock.sleep(id.length * 10);
          if (id.endsWith('!')) throw new Error('no');
          return id === 'bean' ? { requeueDelay: 100 } : {};
        };
        const loop = inputs
          .pipe(reconcileTerms(reconciler, { ...settings, scheduler: clock.scheduler }))
          .subscribe((step) => seen.push(step));
        for (const [at, act] of acts) {
          await clock.advance(at - clock.now());
          if (typeof act === 'string') inputs.next({ id: act });
          else if (act.what === 'revoked') terms.get(act.shard)?.next('revoked');
          else if (act.what === 'lost') terms.get(act.shard)?.complete();
          else {
            terms.set(act.shard, new Subject());
            inputs.next(new LaneTerm(act.shard, terms.get(act.shard)!));
          }
        }
        await clock.advance(1000);
        loop.unsubscribe();
        return seen;
      });
      of(...steps)
        .pipe(journal({ shutdownGrace: 100, maxItemRetries: 0 }))
        .subscribe((line) => lines.push(line));
      const words = (all: readonly Step[]): string[] =>
        all.map((step) => `${step.at} ${step.worker} ${step.kind} ${step.id} ${'reason' in step ? step.reason : ''}`);
      expect(words((await replay(lines)).steps)).toEqual(words(steps));
    });
  });

  it('should give malformed commands again, and those for ids without a lane', async () => {
    const config = { workerCount: 2, workerHasher: (id: string) => (id.startsWith('no') ? -1 : 1) };
    const steps = await virtualTime(async (clock) => {
      const [commands, seen] = [new Subject<Command>(), [] as Step[]];
      const loop = NEVER.pipe(reconcile(() => undefined, { ...config, commands, scheduler: clock.scheduler })).subscribe((step) =>
        seen.push(step),
      );
      for (const command of [
        undefined,
        { kind: 'stop', id: 'web' },
        { kind: 'pause', id: 'nowhere' },
        { kind: 'halt', id: 'nowhere' },
        { kind: 'halt', id: 'nobody' },
      ]) {
        commands.next(command as Command);
        await clock.advance(10);
      }
      loop.unsubscribe();
      return seen;
    });
    const words = (all: readonly Step[]): string[] =>
      all.map(
        (step) =>
          `${step.at} ${step.worker} ${step.id} ${step.kind === 'rejected' ? step.reason : ''} ${String('error' in step && step.error)}`,
      );
    expect(words(steps)).toHaveLength(5);
    const lines: string[] = [];
    of(...steps)
      .pipe(journal(config))
      .subscribe((line) => lines.push(line));
    expect(words((await replay(lines)).steps)).toEqual(words(steps));
  });

  it('should replay what has no end, and what never began', async () => {
    const { lines } = await record([[0, 'a']], (sleep) => () => sleep(1e6), {}, 50);
    expect(kinds((await replay(lines.join('\n') + '\n')).steps)).toEqual(['0 enqueued a', '0 started a']);
    expect(await replay(lines.slice(0, 1))).toEqual({ steps: [], diagram: '' });
  });

  describe('should refuse', () => {
    const header = '{"journal":"kreconciler","version":1,"config":{}}';
    it.each<[string, string | string[], RegExp]>([
      ['a journal from a newer version', header.replace('1', '2'), /version 1 or older, got version 2: a newer kreconciler/],
      [
        'a journal that was cut in the middle of a line',
        [header, '{"line":2,"kind":"enq'],
        /Expected line 2 of the journal to be JSON, got .* cut in the middle/,
      ],
      ['a journal with a bad line', [header, 'oh', '{}'], /Expected line 2 of the journal to be JSON, got `oh` \(string\)$/],
      [
        'a journal with a gap',
        [header, '{"line":2,"kind":"enqueued","id":"a","at":0}', '{"line":4}'],
        /Expected line 3 of the journal, got line 4: some of it is missing/,
      ],
      ['a journal without its beginning', '{"line":2}', /begin with the line that says so, got .* cut off/],
      ['an empty journal', '', /begin with the line that says so, got `undefined`/],
    ])('%s', async (_, lines, message) => {
      await expect(replay(lines)).rejects.toThrow(message);
    });
  });
});

describe('toMarbles', () => {
  const step = (at: number, kind: Step['kind'], id: string) => ({ at, kind, id, worker: 0 }) as Step;

  it('should draw steps from the first on, long ids as letters', () => {
    const steps = [
      step(5000, 'enqueued', 'web'),
      step(5000, 'enqueued', 'a'),
      step(5004, 'started', 'web'),
      step(5300, 'started', 'a'),
      step(5301, 'succeeded', 'web'),
    ];
    expect(toMarbles(steps)).toBe(['enqueued   (ba)', 'started    ----b 295ms a', 'succeeded  ---- 296ms  -b', 'where b = web'].join('\n'));
  });

  it('should draw as many steps as there are', () => {
    const apart = Array.from({ length: 80_000 }, (_, i) => step(i * 3, i % 2 === 0 ? 'started' : 'succeeded', `id ${i % 10}`));
    const together = Array.from({ length: 80_000 }, () => step(300_000, 'merged', 'web'));
    const diagram = toMarbles([...apart, ...together]);
    expect(diagram).toMatch(/^merged {5}.*\(kk.*\nstarted {4}a-----c.*\nsucceeded {2}---b.*\nwhere a = id 0.* k = web$/su);
  });

  it('should draw nothing of nothing, and not be put off by a clock that was set back', () => {
    expect(toMarbles([])).toBe('');
    const steps = [step(0, 'rejected', ''), step(1, 'paused', '')];
    expect(toMarbles(steps)).toBe('rejected   a\npaused     -a\nwhere a = the loop, or no id');
    expect(toMarbles([step(10, 'enqueued', 'a'), step(5, 'started', 'a')])).toBe('enqueued   -----a\nstarted    a');
  });
});
