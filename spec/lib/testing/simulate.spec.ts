import fc from 'fast-check';
import { type Command, constant, type Reconciler, type Step, type Trigger } from 'kreconciler/operators';
import {
  type FaultKind,
  FAULTS,
  type OperatorKind,
  type Scenario,
  ScenarioError,
  simulate,
  type SimulationContext,
  SimulationError,
} from 'kreconciler/testing';
import { concatMap, defer, from, ignoreElements, map, of, timer } from 'rxjs';
import { describe, expect, it } from 'vitest';

interface World {
  wanted: Record<string, number>;
  actual: Record<string, number>;
}

/** A world that is kept right, but for what a test changes. */
function world(changed: Partial<Scenario<World>> = {}): Scenario<World> {
  return {
    world: () => ({ wanted: {}, actual: {} }),
    changes: {
      scale: ({ wanted }, id, random) => {
        wanted[id] = Math.floor(random() * 10);
      },
    },
    streams: {
      watch: { on: ['scale'], list: ({ wanted }) => Object.keys(wanted) },
      resync: { every: 60_000, list: ({ wanted }) => Object.keys(wanted) },
    },
    reconciler:
      () =>
      async (id, { read, effect }) => {
        const size = await read(({ wanted }) => wanted[id] ?? 0);
        await effect('resize', ({ actual }) => {
          actual[id] = size;
        });
      },
    converged: ({ wanted, actual }) => Object.keys(wanted).every((id) => wanted[id] === actual[id]),
    ...changed,
  };
}

async function failing(scenario: Scenario<World>, config?: Parameters<typeof simulate>[1]): Promise<SimulationError> {
  const error: unknown = await simulate(scenario, config).catch((error: unknown) => error);
  expect(error).toBeInstanceOf(SimulationError);
  return error as SimulationError;
}

describe('simulate', () => {
  it('should pass what is right, whatever goes wrong', async () => {
    const report = await simulate(world(), { runs: 500 });
    expect(report.runs).toBe(500);
    expect(report.changes).toBeGreaterThan(1000);
    expect(report.faults).toBeGreaterThan(500);
  }, 30_000);

  it('should report seed, smallest schedule, what happened, and the steps as marbles', async () => {
    const { message } = await failing(
      world({ invariants: { 'nothing is larger than 7': ({ actual }) => Object.values(actual).every((size) => size <= 7) } }),
    );
    expect(message).toBe(
      [
        'The invariant "nothing is larger than 7" broke, at 0 ms (run 2).',
        'To see it again: simulate(scenario, { seed: 2 }), with the same size and faults if you gave any.',
        '',
        'The smallest schedule that shows it (1 of 7 things, none of them a fault):',
        '  at 0 ms, b: scale',
        '',
        'What happened:',
        '  0 ms  b: scale (from outside)',
        '  0 ms  b: `resize`',
        '',
        'enqueued   b',
        'started    b',
        'succeeded  b',
      ].join('\n'),
    );
  });

  it('should report what the reconciler threw, unless that came from a handle', async () => {
    const reconciler: Scenario<World>['reconciler'] =
      () =>
      async (id, { read, effect }) => {
        const size = await read(({ wanted }) => wanted[id] ?? 0);
        await effect('look', () => undefined);
        if (size > 0) throw new TypeError('size.toFixed is not a function');
      };
    const config = { backoff: constant(60_000), maxItemRetries: 1 };
    const changes = [{ at: 0, id: 'b', name: 'scale', value: 2 }];
    const faults = [{ kind: 'fail' as const, id: 'b', nth: 1, at: 0, ms: 0 }];
    const { log } = await failing(world({ reconciler, config, streams: { watch: { on: ['scale'] } } }), { schedule: { changes, faults } });
    expect(log).toEqual([
      '0 ms  b: scale (from outside)',
      '0 ms  b: `look`',
      '0 ms  b: the reconciler fails: size.toFixed is not a function',
      '60000 ms  b: `look`',
      '60000 ms  b: the reconciler fails: size.toFixed is not a function',
    ]);
  });

  it.each<[string, Partial<Scenario<World>>]>([
    [
      'the invariant "small"',
      {
        invariants: {
          small: ({ actual }) => {
            if (Object.values(actual).some((size) => size > 7)) throw new Error('too large');
            return true;
          },
        },
      },
    ],
    [
      '`converged`',
      {
        converged: ({ wanted, actual }) => {
          if (Object.values(actual).some((size) => size > 7)) throw new Error('too large');
          return Object.keys(wanted).every((id) => wanted[id] === actual[id]);
        },
      },
    ],
  ])('should report seed and smallest schedule also if %s throws', async (name, changed) => {
    const { message, seed, schedule, cause } = await failing(world(changed), { runs: 100 });
    expect(message.toLowerCase()).toContain(`${name} threw: too large, at`);
    expect(message).toContain(`simulate(scenario, { seed: ${seed} })`);
    expect(schedule.changes).toHaveLength(1);
    expect(cause).toEqual(new Error('too large'));
  });

  it('should take its seed as given: 1,000 runs from 1 on, or one run of a given one', async () => {
    expect((await simulate(world(), { runs: 3 })).runs).toBe(3);
    expect((await simulate(world(), { seed: 77 })).runs).toBe(1);
    expect(await simulate(world(), { seed: 5, runs: 20 })).toEqual(await simulate(world(), { seed: 5, runs: 20 }));
  });

  it('should say so if no fault is allowed', async () => {
    expect(await simulate(world(), { runs: 50, kinds: [] })).toMatchObject({ faults: 0 });
    expect(await simulate(world({ faults: [] }), { runs: 50 })).toMatchObject({ faults: 0 });
    expect(await simulate(world(), { runs: 50, faults: 0 })).toMatchObject({ faults: 0 });
  });

  it('should draw values from fast-check, show them, and shrink them', async () => {
    const scenario = world({
      changes: {
        scale: {
          values: fc.integer({ min: 0, max: 1000 }),
          apply: ({ wanted }, id, size: number) => {
            wanted[id] = size;
          },
        },
      },
      invariants: { 'at most 500': ({ actual }) => Object.values(actual).every((size) => size <= 500) },
    });
    const error = await failing(scenario);
    expect(error.message).toContain('at 0 ms, a: scale 501'.replace('a:', `${error.schedule.changes[0]!.id}:`));
  });

  it.each<[string, Partial<Scenario<World>>, FaultKind[], RegExp]>([
    [
      'a world that does not converge',
      { reconciler: () => () => undefined },
      [],
      /The world did not converge within 600000 ms after the last fault/,
    ],
    [
      'a world that does not stay as it was',
      {
        world: () => ({ wanted: { z: 0 }, actual: { z: 0 } }),
        reconciler:
          () =>
          async (id, { effect, read, sleep }) => {
            const size = await read(({ wanted }) => wanted[id] ?? 0);
            await effect('resize', ({ actual }) => {
              actual[id] = size;
            });
            if (Object.keys(await read(({ wanted }) => wanted)).length < 2) return;
            await sleep(100);
            await effect('resize', ({ actual }) => {
              actual[id] = -1;
            });
          },
      },
      [],
      /The world converged, and did not stay so/,
    ],
    [
      'a loop that triggers itself',
      { streams: { watch: { on: ['scale', 'resize'] } } },
      [],
      /Time stood still: one thing caused the next at the same moment/,
    ],
    [
      'a step that must not be',
      {
        onStep: ({ kind }) => {
          if (kind === 'requeued') throw new Error('retried!');
        },
      },
      ['fail'],
      /`onStep` threw: retried!/,
    ],
  ])(
    'should find %s',
    async (_, changed, kinds, message) => {
      expect((await failing(world(changed), { kinds })).message).toMatch(message);
    },
    30_000,
  );

  it.each<[string, Reconciler<SimulationContext<World>>]>([
    ['nothing', () => undefined],
    ['an Observable that completes at once', () => of({})],
    ['an Observable that takes its time', (_, { sleep }) => from(sleep(300)).pipe(map(() => ({})))],
    [
      'an async iterable',
      async function* (_, { sleep }) {
        await sleep(300);
        yield {};
      },
    ],
  ])('should run one id twice at once in no process, if its reconciler returns %s', async (_, reconciler) => {
    const scenario = world({ converged: () => true, reconciler: () => reconciler });
    await expect(simulate(scenario, { runs: 50, kinds: ['crash', 'leadership', 'handover'] })).resolves.toBeDefined();
  });

  it('should take an Observable that has completed for over, before its id runs again', async () => {
    const scenario = world({
      reconciler:
        () =>
        (id, { read, effect }) =>
          from(read(({ wanted }) => wanted[id] ?? 0)).pipe(
            concatMap((size) =>
              effect('resize', ({ actual }) => {
                actual[id] = size;
              }),
            ),
            ignoreElements(),
          ),
    });
    await expect(simulate(scenario, { runs: 100, kinds: [] })).resolves.toBeDefined();
  });

  it('should hold its promise about clocks, random numbers and contexts', async () => {
    const seen = new Set<string>();
    await simulate(
      world({
        config: (random) => ({ workerCount: 1 + Math.floor(random() * 3), workerName: () => 'w' }),
        reconciler:
          ({ now, random }) =>
          async (id, context) => {
            seen.add(
              Object.keys(context)
                .filter((key) => ['worker', 'workerName', 'attempt', 'reason', 'streams', 'id'].includes(key))
                .join(),
            );
            expect(context.signal.aborted).toBe(false);
            expect(typeof now()).toBe('number');
            expect(random()).toBeLessThan(1);
            await context.sleep(10);
            const size = await context.read(({ wanted }) => wanted[id] ?? 0);
            await context.effect('resize', ({ actual }) => {
              actual[id] = size;
            });
          },
      }),
      { runs: 20 },
    );
    expect(seen.size).toBe(1);
  });

  it('should give copies to those who read', async () => {
    const scenario = world({
      reconciler:
        () =>
        async (id, { read, effect }) => {
          const copy = await read((world) => world);
          copy.actual[id] = 99;
          await effect('resize', ({ wanted, actual }) => {
            actual[id] = wanted[id] ?? 0;
          });
        },
      invariants: { 'no 99': ({ actual }) => !Object.values(actual).includes(99) },
    });
    await expect(simulate(scenario, { runs: 100 })).resolves.toBeDefined();
  });

  describe('should say that the scenario is at fault', () => {
    let hidden = 0;
    it.each<[string, Partial<Scenario<World>>, RegExp]>([
      [
        'if it never converges, even if left alone',
        { converged: () => false },
        /to converge if it is left alone, but without a change and without a fault the world did not converge/,
      ],
      [
        'if an effect is called outside of an attempt',
        {
          reconciler:
            () =>
            (id, { effect, sleep }) => {
              void sleep(5)
                .then(() => effect('late', () => undefined))
                .catch(() => undefined);
            },
        },
        /`late` of `.` was called outside of an attempt: the reconciler had answered already. Is an `await` missing\?/,
      ],
      [
        'if a reconciler awaits the real world',
        {
          reconciler: () => () =>
            new Promise((resolve) => {
              setTimeout(resolve, 5);
            }),
        },
        /awaits something that is neither `read`, `effect` nor `sleep`/,
      ],
      [
        'if an Observable waits for real time',
        { reconciler: () => () => timer(50).pipe(map(() => ({}))) },
        /awaits something that is neither `read`, `effect` nor `sleep`/,
      ],
      [
        'if an async function goes on in an Observable that was cut off',
        {
          reconciler:
            () =>
            (id, { effect, sleep }) =>
              defer(async () => {
                await sleep(15_000);
                await effect('resize', ({ wanted, actual }) => {
                  actual[id] = wanted[id] ?? 0;
                });
              }).pipe(ignoreElements()),
        },
        /`resize` of `.` was called after the Observable around it was cut off.*the loop may have started `.` again\. Return its promise instead/,
      ],
      [
        'if `converged` is asynchronous',
        { converged: (async () => false) as never },
        /Expected `converged` to answer at once, got a promise/,
      ],
      [
        'if `converged` answers neither true nor false',
        { converged: (() => 5) as never },
        /Expected `converged` to answer true or false, got `5`/,
      ],
      [
        'if an invariant is asynchronous',
        { invariants: { sane: (async () => false) as never } },
        /Expected the invariant "sane" to answer at once/,
      ],
      [
        'if an invariant rejects',
        {
          invariants: {
            sane: (async () => {
              throw new Error('late');
            }) as never,
          },
        },
        /Expected the invariant "sane" to answer at once/,
      ],
      [
        'if the function that makes the reconciler was forgotten',
        {
          reconciler: (async (_: string, { read }: { read: () => unknown }) => {
            await read();
          }) as never,
        },
        /Expected `reconciler` to answer at once, got a promise/,
      ],
      [
        'if no reconciler is made',
        { reconciler: (() => undefined) as never },
        /Expected `reconciler` to answer by the reconciler of a process.*, got `undefined`/,
      ],
      ['if `config` is asynchronous', { config: (async () => ({})) as never }, /Expected `config` to answer at once/],
      [
        'if a list is asynchronous',
        {
          streams: {
            all: {
              list: (async () => {
                throw new Error('late');
              }) as never,
            },
          },
        },
        /Expected the `list` of `all` to answer at once/,
      ],
      [
        'if a list is a string',
        { streams: { all: { list: () => 'web' } } },
        /Expected the `list` of `all` to answer by an iterable of ids, got `web` \(string\)/,
      ],
      ['if `world` is asynchronous', { world: (async () => ({})) as never }, /Expected `world` to answer at once/],
      ['if `onStep` is asynchronous', { onStep: (): unknown => Promise.resolve() }, /Expected `onStep` to answer at once/],
      ['if a change is asynchronous', { changes: { scale: async () => undefined } }, /Expected the change `scale` to answer at once/],
      [
        'if an effect is asynchronous',
        {
          reconciler:
            () =>
            async (_, { effect }) => {
              await effect('resize', async () => undefined);
            },
        },
        /Expected the function that `.` gave to `resize` to answer at once/,
      ],
      [
        'if a change throws',
        {
          changes: {
            scale: () => {
              throw new Error('no such thing');
            },
          },
        },
        /A function of the scenario threw, with seed \d+: no such thing/,
      ],
      [
        'if it is not deterministic',
        { invariants: { odd: () => ++hidden !== 40 } },
        /not deterministic: with seed \d+ the invariant "odd" broke, and the next time it did not/,
      ],
    ])('%s', async (_, changed, message) => {
      const error: unknown = await simulate(world(changed)).catch((error: unknown) => error);
      expect(error).toBeInstanceOf(ScenarioError);
      expect((error as Error).message).toMatch(message);
    });

    it('should refuse a schedule that has a change that it has not', async () => {
      const schedule = { changes: [{ at: 0, id: 'a', name: 'paint', value: 0 }], faults: [] };
      await expect(simulate(world(), { schedule })).rejects.toThrow(/the change `paint`/);
    });
  });

  it('should take the world for calm only when the last fault has struck, and what it broke is back', async () => {
    const looks: number[] = [];
    const { world: initial, ...others } = world();
    const scenario: Scenario<World> = {
      ...others,
      world: (random) => {
        looks.length = 0;
        return initial(random);
      },
      converged: (_, at) => looks.push(at) > 0,
    };
    // Operations 1 and 2 are over when leadership is lost; the crash comes the moment it is back.
    const faults = [
      { kind: 'leadership' as const, id: 'a', nth: 0, at: 1, ms: 500 },
      { kind: 'crash' as const, id: 'a', nth: 3, at: 0, ms: 5000 },
    ];
    await simulate(scenario, { schedule: { changes: [{ at: 0, id: 'a', name: 'scale', value: 1 }], faults } });
    expect(looks[0]).toBe(5501);
  });

  it('should do each change of a schedule at its moment, in whatever order they stand there', async () => {
    const seen: string[] = [];
    const scenario = world({
      changes: { scale: (_, id) => void seen.push(id) },
      onStep: ({ kind }, _, at) => {
        if (kind === 'started') seen.push(String(at));
      },
    });
    const changes = [
      ['c', 20],
      ['a', 10],
      ['b', 20],
      ['d', 0],
    ] as const;
    await simulate(scenario, { schedule: { changes: changes.map(([id, at]) => ({ id, at, name: 'scale', value: 0 })), faults: [] } });
    expect(seen).toEqual(['d', '0', 'a', '10', 'c', 'b', '20', '20']);
  });

  it.each<[object, object, RegExp]>([
    [{ ids: [] }, {}, /`ids` to be a list of at least one id/],
    [{ world: 3 }, {}, /`world` to be a function, got `3` \(number\)/],
    [{ reconciler: null }, {}, /`reconciler` to be a function/],
    [{ converged: undefined }, {}, /`converged` to be a function/],
    [{ changes: {} }, {}, /`changes` to be an object with at least one change/],
    [{ changes: { grow: 3 } }, {}, /`changes.grow` to be a function, or `\{ values, apply \}`.*got `3` \(number\)/],
    [{ changes: { grow: { values: fc.nat() } } }, {}, /`changes.grow` to be a function, or `\{ values, apply \}`/],
    [{ changes: { grow: { apply: () => undefined } } }, {}, /`changes.grow` to be a function, or `\{ values, apply \}`/],
    [{ invariants: { bound: true } }, {}, /`invariants.bound` to be a function, got `true` \(boolean\)/],
    [{ streams: null }, {}, /`streams` to be an object/],
    [{ streams: { resync: { every: 0, list: () => [] } } }, {}, /`streams.resync.every` to be a number of ms > 0/],
    [{ streams: { resync: { every: 10 } } }, {}, /`streams.resync.list` to be a function, for the stream has `every`/],
    [{ faults: ['flood'] }, {}, /`faults` to be one of crash, fail.*got `flood`/],
    [{ operator: ['sleep'] }, {}, /`operator` to be one of pause, pauseLoop, discard, force, got `sleep`/],
    [{ streams: { watch: { on: 'scale' } } }, {}, /`streams.watch.on` to be a list of names of changes and effects, got `scale`/],
    [{ streams: { watch: { on: ['scale'], priority: 'high' } } }, {}, /`streams.watch.priority` to be a number, got `high`/],
    [{ streams: { watch: { on: ['scale'], force: 1 } } }, {}, /`streams.watch.force` to be true or false, got `1`/],
    [{}, { kinds: ['flood'] }, /`faults` to be one of/],
    [{}, { runs: 0 }, /`runs` to be an integer >= 1/],
    [{}, { events: 0.5 }, /`events` to be an integer >= 1/],
    [{}, { faults: -1 }, /`faults` to be an integer >= 0/],
    [{}, { seed: NaN }, /`seed` to be a safe integer/],
  ])('should refuse %o with %o', async (scenario, config, message) => {
    await expect(simulate(world(scenario), config)).rejects.toThrow(message);
  });

  describe('an operator', () => {
    const operator = ['pause', 'pauseLoop', 'discard', 'force'] as const satisfies readonly OperatorKind[];
    const deed = (kind: OperatorKind, at: number, ms = 0) => ({ kind, id: 'a', nth: 0, at, ms });
    const scale = { at: 10, id: 'a', name: 'scale', value: 1 };

    it('should do what the scenario allows, and nothing by default', async () => {
      const seen = new Set<string>();
      const observed: Partial<Scenario<World>> = {
        onStep: (step) => {
          seen.add(step.kind);
          if ('reason' in step) seen.add(step.reason);
          if (step.trigger?.force === true) seen.add('forced');
        },
      };
      await simulate(world(observed), { runs: 300, kinds: [] });
      expect([...seen].sort()).toEqual(['enqueued', 'event', 'merged', 'started', 'succeeded']);
      const report = await simulate(world({ ...observed, operator }), { runs: 300, kinds: [] });
      expect(report.faults).toBeGreaterThan(300);
      for (const kind of ['paused', 'resumed', 'discarded', 'forced']) expect(seen).toContain(kind);
    });

    it('should leave what else is drawn as it is', async () => {
      const triggers = async (changed: Partial<Scenario<World>>): Promise<string[]> => {
        const seen: string[] = [];
        const scenario = world({
          ...changed,
          streams: { watch: { on: ['scale'] } },
          converged: () => true,
          onStep: ({ trigger }, _, at) => {
            if (trigger !== undefined && trigger.stream === 'watch') seen.push(`${at} ${trigger.id}`);
          },
        });
        await simulate(scenario, { runs: 20, kinds: [] });
        return seen;
      };
      expect(await triggers({ operator })).toEqual(await triggers({}));
    });

    it('should pause an id for a while, and the world is calm only after it', async () => {
      const steps: string[] = [];
      const scenario = world({ operator, onStep: ({ kind, id }, _, at) => void steps.push(`${at} ${kind} ${id}`) });
      await simulate(scenario, { schedule: { changes: [scale], faults: [deed('pause', 5, 1000)] } });
      expect(steps.slice(0, 5)).toEqual(['5 paused a', '10 merged a', '1005 resumed a', '1005 enqueued a', '1005 started a']);
    });

    it('should be told to the process before the loop, which is told of its terms', async () => {
      const told: string[] = [];
      const scenario = world({
        operator,
        reconciler: (process) => {
          process.commands.subscribe(({ kind }: Command) => told.push(kind));
          process.leading.subscribe((leads) => told.push(leads ? 'leads' : 'follows'));
          process.triggers.subscribe(({ id }: Trigger) => told.push(id));
          return world().reconciler(process);
        },
        onStep: ({ kind }: Step) => void told.push(`- ${kind}`),
      });
      const faults = [deed('pauseLoop', 5, 30), { ...deed('pause', 20, 10), kind: 'leadership' as const }];
      await simulate(scenario, { schedule: { changes: [scale], faults } });
      const first = told.lastIndexOf('leads', told.indexOf('pause'));
      expect(told.slice(first, first + 10)).toEqual([
        'leads',
        'pause',
        '- paused',
        'a',
        '- merged',
        'follows',
        '- enqueued',
        '- dropped',
        'leads',
        'a',
      ]);
    });

    it('should be blamed in the smallest schedule, with those that need it', async () => {
      const scenario = world({
        operator,
        onStep: ({ kind }) => {
          if (kind === 'resumed') throw new Error('resumed!');
        },
      });
      expect((await failing(scenario)).message).toMatch(/\(1 of \d+ things\):\n {2}at 0 ms: (the loop|`.`) is paused for 0 ms\n/);
      const lost = world({ operator: ['pause', 'discard'], streams: { watch: { on: ['scale'] } } });
      expect((await failing(lost, { kinds: [] })).message).toMatch(/at \d+ ms: `.` is discarded/);
    });
  });

  it('should give events the priority of their stream, and force them', async () => {
    const seen = new Map<string | undefined, unknown>();
    const scenario = world({
      streams: {
        watch: { on: ['scale'], priority: 5 },
        call: { on: ['scale'], force: true },
        resync: { every: 60_000, list: ({ wanted }) => Object.keys(wanted), priority: -1 },
      },
      onStep: ({ trigger }) => {
        if (trigger !== undefined) seen.set(trigger.stream, { priority: trigger.priority, force: trigger.force });
      },
    });
    await simulate(scenario, { runs: 20, kinds: [] });
    expect(Object.fromEntries(seen)).toEqual({ watch: { priority: 5 }, call: { force: true }, resync: { priority: -1 } });
  });

  it('should know thirteen kinds of faults', () => {
    expect(FAULTS).toHaveLength(13);
  });
});
