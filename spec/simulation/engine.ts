import { byPriority, constant, fair, fifo, type ReadyQueue, type Result, RetryError, TerminalError } from 'kreconciler/operators';
import type { Random, Scenario, SimulatedLoopConfig, SimulationContext } from 'kreconciler/testing';
import { of, throwError } from 'rxjs';
import { type Limits, StepLaws } from './step-laws.js';

interface World {
  readonly laws: StepLaws[];
  readonly limits: Limits;
  readonly loop: SimulatedLoopConfig;
}

const oneOf = <T>(random: Random, ...items: readonly T[]): T => items[Math.floor(random() * items.length)]!;

/** The world of a run, by the chance of that run: a process is not given its world, and its events belong to the laws. */
const worlds = new WeakMap<Random, World>();

/** Anything that a reconciler may do, and much that it should not. */
const behaviours: ((context: SimulationContext<World>, random: Random) => Promise<Result | void> | Result | void)[] = [
  () => undefined,
  (_, random) => ({ requeueDelay: oneOf(random, 10, 5000) }),
  () => {
    throw new Error('thrown');
  },
  () => ({ error: new RetryError('later', 700) }),
  () => {
    throw new TerminalError('never');
  },
  () => 'odd' as unknown as Result,
  () => of({}) as unknown as Promise<Result>,
  () => throwError(() => new Error('errored')) as unknown as Promise<Result>,
  async ({ effect }) => {
    await effect('work', () => undefined);
  },
  async ({ effect }) => {
    await Promise.all([effect('work', () => undefined), effect('work', () => undefined)]);
  },
  async ({ read }) => ({ error: await read(() => 'reported') }),
  async ({ sleep }, random) => {
    await sleep(random() * 3000);
  },
  async ({ sleep, signal }) => {
    await sleep(1200);
    signal.throwIfAborted();
  },
  async ({ sleep, superseded }, random) => {
    await sleep(random() * 2000);
    superseded.throwIfAborted();
  },
];

/** Two keys, so that there are others of each. */
const key = (id: string): string => (id < 'c' ? 'early' : 'late');

/** An order, and what the laws must know of it. */
function drawnOrder(random: Random): Pick<Limits, 'isFifo' | 'ofKey'> & { readonly order: () => ReadyQueue } {
  const kind = oneOf(random, 'fifo', 'byPriority', 'fair');
  if (kind === 'fifo') return { isFifo: true, ofKey: undefined, order: fifo };
  const byUrgency = byPriority({ ageing: oneOf(random, 1, 1000, Infinity) });
  if (kind === 'byPriority') return { isFifo: false, ofKey: undefined, order: byUrgency };
  const concurrency = oneOf(random, 1, 2, Infinity);
  return { isFifo: false, ofKey: { key, concurrency }, order: fair({ key, concurrency, within: oneOf(random, fifo, byUrgency) }) };
}

/** The engine itself: reconcilers that do anything, under every configuration, and the laws of its steps. */
export const scenario: Scenario<World> = {
  ids: ['a', 'b', 'c', 'd'],
  world: (random) => {
    const { order, ...ofOrder } = drawnOrder(random);
    const loop = {
      delayResolution: oneOf(random, 1, 100, 250),
      delayQueueSize: oneOf(random, 0, 1, 2, 100),
      maxItemRetries: oneOf(random, 0, 1, 3, Infinity),
      maxReconcileTime: oneOf(random, 0, 500, 1000),
      workerQueueSize: oneOf(random, 1, 2, 100),
      workerCount: oneOf(random, 1, 2, 3),
      workerConcurrency: oneOf(random, 1, 1, 2, 3, Infinity),
      concurrency: oneOf(random, Infinity, 1, 2, 3),
      cooldown: oneOf(random, 0, 0, 30, 2000),
      order,
    };
    const world: World = { laws: [], loop, limits: { ...loop, ...ofOrder } };
    worlds.set(random, world);
    return world;
  },
  // The laws are part of the world, and not to be copied when a read is stale.
  clone: (value) => value,
  changes: { event: () => undefined, urgent: () => undefined, forced: () => undefined },
  operator: ['pause', 'pauseLoop', 'discard', 'force'],
  streams: {
    watch: { on: ['event'], list: () => ['a', 'b', 'c', 'd'] },
    users: { on: ['urgent'], priority: 5 },
    calls: { on: ['forced'], force: true },
    resync: { every: 30_000, priority: -1, list: () => ['d', 'c', 'b', 'a'] },
  },
  config: (random, { loop }) => ({ ...loop, backoff: oneOf(random, constant(1), constant(400), () => NaN) }),
  reconciler: ({ random, triggers, commands, leading }) => {
    const { laws, limits } = worlds.get(random)!;
    const ofProcess = new StepLaws(limits);
    laws.push(ofProcess);
    triggers.subscribe((trigger) => {
      ofProcess.arrive(trigger);
    });
    commands.subscribe((command) => {
      ofProcess.command(command);
    });
    leading.subscribe((isLeading) => {
      if (!isLeading) ofProcess.reset();
    });
    return (_, context) => oneOf(random, ...behaviours)(context, random) as Promise<void>;
  },
  converged: ({ laws }, at) => laws.at(-1)!.isAtRest(at),
  onStep: (step, { laws }, at, process) => {
    laws[process]!.see(step, at);
  },
};
