import fc from 'fast-check';
import { byPriority, type Command, fair, fifo, type Reconciler, type ReadyQueue, type Trigger } from 'kreconciler/operators';
import { filter, ignoreElements, map, Subject, timer } from 'rxjs';
import { describe, expect, test } from 'vitest';
import { Rig } from '../support/rig.js';
import { type Limits, StepLaws } from '../simulation/step-laws.js';

// `PROPERTY_RUNS=10000 npx vitest run spec/operators/who-runs-next.property.spec.ts` goes further.
const numRuns = Number(process.env['PROPERTY_RUNS'] ?? 400);

const ids = ['apple', 'avocado', 'banana', 'berry', 'cherry', '__proto__'];
const key = (id: string): string => id.slice(0, 1);

interface Order {
  readonly name: string;
  readonly order: () => ReadyQueue;
  readonly isFifo: boolean;
  readonly ofKey: Limits['ofKey'];
}

const order: fc.Arbitrary<Order> = fc.oneof(
  fc.constant({ name: 'fifo', order: fifo, isFifo: true, ofKey: undefined }),
  fc
    .constantFrom(1, 50, Infinity)
    .map((ageing) => ({ name: `by priority`, order: byPriority({ ageing }), isFifo: false, ofKey: undefined })),
  fc.tuple(fc.constantFrom(1, 2, Infinity), fc.constantFrom(fifo, byPriority({ ageing: 50 }))).map(([concurrency, within]) => ({
    name: 'fair',
    order: fair({ key, concurrency, within }),
    isFifo: false,
    ofKey: { key, concurrency },
  })),
);

const config = fc.record({
  workerCount: fc.integer({ min: 1, max: 4 }),
  workerConcurrency: fc.constantFrom(1, 2, 3, Infinity),
  concurrency: fc.constantFrom(1, 2, 3, Infinity),
  cooldown: fc.constantFrom(0, 0, 15, 70),
  workerQueueSize: fc.constantFrom(1, 3, Infinity),
  delayQueueSize: fc.constantFrom(0, 2, Infinity),
  maxItemRetries: fc.constantFrom(0, 2, Infinity),
  maxReconcileTime: fc.constantFrom(0, 25),
});

/** How one run goes: how long it takes, and how it ends. A promise outlives its time. */
const run = fc.record({
  how: fc.constantFrom('at once', 'promise', 'observable'),
  takes: fc.nat(40),
  end: fc.constantFrom('well', 'well', 'requeue', 'fail', 'give way'),
});
type Run = typeof run extends fc.Arbitrary<infer T> ? T : never;

const id = fc.constantFrom(...ids);
const deed: fc.Arbitrary<Trigger | Command | 'reset'> = fc.oneof(
  { weight: 12, arbitrary: fc.record({ id }) },
  { weight: 4, arbitrary: fc.record({ id, priority: fc.integer({ min: -2, max: 3 }) }) },
  { weight: 3, arbitrary: fc.record({ id, force: fc.constant(true) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom('pause', 'resume', 'resume', 'discard'), id }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('pause', 'resume', 'resume') }) },
  { weight: 1, arbitrary: fc.constant('reset' as const) },
);
/** What happens, and how long after the deed before. */
const story = fc.array(fc.tuple(fc.oneof(fc.constant(0), fc.nat(30)), deed), { maxLength: 40, size: 'max' });

class Lives {
  /** What runs, by `S1` including promises that go on. */
  readonly busy = new Set<string>();
  overlaps = 0;
  /** Runs that began before they were told of (A5). */
  untold = 0;
  #started = 0;
  #told = 0;
  readonly #runs: Run[];
  readonly #commands = new Subject<Command>();
  readonly rig: Rig;
  readonly laws: StepLaws;

  constructor(settings: typeof config extends fc.Arbitrary<infer T> ? T : never, { order, isFifo, ofKey }: Order, runs: readonly Run[]) {
    this.#runs = [...runs];
    this.laws = new StepLaws({ ...settings, delayResolution: 10, isFifo, ofKey });
    this.rig = new Rig(this.#reconciler, { ...settings, order, commands: this.#commands }, (step, { clock }) => {
      this.laws.see(step, clock.now());
      if (step.kind === 'started') this.#told++;
    });
  }

  do(what: Trigger | Command | 'reset'): void {
    if (what === 'reset') {
      this.laws.reset();
      this.rig.reset.next();
    } else if ('kind' in what) {
      this.laws.command(what);
      this.#commands.next(what);
    } else {
      this.laws.arrive(what);
      this.rig.events.next(what);
    }
  }

  /** Nobody holds anything back any more: everything comes to its end. */
  async settle(): Promise<void> {
    this.do({ kind: 'resume' });
    for (const id of ids) this.do({ kind: 'resume', id });
    this.#runs.length = 0;
    this.rig.events.complete();
    for (let i = 0; i < 300 && this.rig.end === undefined; i++) await this.rig.clock.pass(20);
  }

  readonly #reconciler: Reconciler = (id, { superseded }) => {
    if (this.busy.has(id)) this.overlaps++;
    if (++this.#started !== this.#told) this.untold++;
    const { how, takes, end } = this.#runs.shift() ?? { how: 'at once', takes: 0, end: 'well' };
    const answer = (): { requeueDelay: number } | undefined => {
      if (end === 'give way') superseded.throwIfAborted();
      if (end === 'fail') throw new Error('no');
      return end === 'requeue' ? { requeueDelay: takes } : undefined;
    };
    const { clock } = this.rig;
    if (how === 'at once') return answer();
    if (how === 'observable')
      return timer(takes, clock).pipe(
        map(answer),
        filter((result) => result !== undefined),
      );
    this.busy.add(id);
    return new Promise((resolve, reject) => {
      clock.schedule(() => {
        this.busy.delete(id);
        try {
          resolve(answer());
        } catch (error) {
          reject(error);
        }
      }, takes);
    });
  };
}

describe('Several runs at once, in any order, with rests, priorities, force, commands and resets', () => {
  test(
    `S1, A1 to A5, E1, W1 to W8, C1 to C4 should hold, and everything should come to rest, in ${String(numRuns)} lives`,
    { timeout: 600_000 },
    async () => {
      await fc.assert(
        fc.asyncProperty(config, order, fc.array(run, { maxLength: 30 }), story, async (settings, given, runs, deeds) => {
          const lives = new Lives(settings, given, runs);
          const { rig } = lives;
          for (const [after, deed] of deeds) {
            await rig.clock.pass(after);
            lives.do(deed);
          }
          await lives.settle();
          const { overlaps, untold, laws } = lives;
          // What only rests is not waited for (P1).
          const left = rig.queues.filter(({ size, resting }) => size > resting).length;
          expect({ overlaps, untold, left, isIdle: laws.isIdle, end: rig.end, timers: rig.clock.timers }).toEqual({
            overlaps: 0,
            untold: 0,
            left: 0,
            isIdle: true,
            end: 'completed',
            timers: 0,
          });
        }),
        { numRuns },
      );
    },
  );
});

/** Events for one worker that takes its time, none of which fails: what has waited, and what has run meanwhile. */
interface Wait {
  readonly id: string;
  readonly at: number;
  readonly priority: number;
  readonly passedBy: { readonly id: string; readonly at: number; readonly priority: number }[];
}

async function waits(
  events: readonly { id: string; priority: number; after: number }[],
  order: () => ReadyQueue,
  workerConcurrency: number,
): Promise<Wait[]> {
  const ready = new Map<string, Wait>();
  const over: Wait[] = [];
  const rig: Rig = new Rig(
    () => timer(20, rig.clock).pipe(ignoreElements()),
    { order, workerConcurrency, workerQueueSize: Infinity },
    (step) => {
      const { id, kind, at, trigger } = step;
      if (kind === 'enqueued') ready.set(id, { id, at, priority: trigger?.priority ?? 0, passedBy: [] });
      if (kind !== 'started') return;
      const { priority, at: since } = ready.get(id)!;
      over.push(ready.get(id)!);
      ready.delete(id);
      for (const { passedBy } of ready.values()) passedBy.push({ id, at: since, priority });
    },
  );
  for (const [i, { id, priority, after }] of events.entries()) {
    await rig.clock.pass(after);
    // Each id once: one that is asked for again would have the better of two claims.
    rig.events.next({ id: `${id}/${i}`, priority });
  }
  rig.events.complete();
  await rig.clock.pass(events.length * 20 + 20);
  expect(rig.end).toBe('completed');
  return over;
}

describe('Nobody starves', () => {
  const events = fc.array(
    fc.record({ id: fc.constantFrom('acme', 'bolt', 'cork'), priority: fc.integer({ min: -3, max: 5 }), after: fc.nat(12) }),
    { maxLength: 80, size: 'max' },
  );
  const concurrency = fc.constantFrom(1, 2, 5);

  test('W3 should let nobody pass by priority who came later than that is worth', { timeout: 600_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(events, concurrency, fc.constantFrom(1, 10, 60), async (events, concurrency, ageing) => {
        const all = await waits(events, byPriority({ ageing }), concurrency);
        expect(all).toHaveLength(events.length);
        for (const { at, priority, passedBy } of all)
          for (const other of passedBy) expect(other.at - at).toBeLessThanOrEqual((other.priority - priority) * ageing);
      }),
      { numRuns: numRuns / 4 },
    );
  });

  test('W3 should let each key pass another one only once for each id that stands before it', { timeout: 600_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(events, concurrency, async (events, concurrency) => {
        const tenant = (id: string): string => id.split('/')[0]!;
        const all = await waits(events, fair({ key: tenant }), concurrency);
        expect(all).toHaveLength(events.length);
        for (const { id, passedBy } of all) {
          const own = passedBy.filter((other) => tenant(other.id) === tenant(id)).length;
          for (const other of ['acme', 'bolt', 'cork'].filter((name) => name !== tenant(id)))
            expect(passedBy.filter((passing) => tenant(passing.id) === other).length).toBeLessThanOrEqual(own + 1);
        }
      }),
      { numRuns: numRuns / 4 },
    );
  });
});
