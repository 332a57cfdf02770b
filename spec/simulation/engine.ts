import { constant, type Result, RetryError, TerminalError } from 'kreconciler/operators';
import type { Random, Scenario, SimulationContext } from 'kreconciler/testing';
import { of, throwError } from 'rxjs';
import { StepLaws } from './step-laws.js';

interface World {
  readonly laws: StepLaws[];
  readonly limits: {
    delayResolution: number;
    delayQueueSize: number;
    maxItemRetries: number;
    maxReconcileTime: number;
    workerQueueSize: number;
    workerCount: number;
  };
}

const oneOf = <T>(random: Random, ...items: readonly T[]): T => items[Math.floor(random() * items.length)]!;

/** The world of a run, by the chance of that run: a process is not given its world, and its events belong to the laws. */
const worlds = new WeakMap<Random, World>();

/** Anything that a reconciler may do, and much that it should not. */
const behaviours: ((context: SimulationContext<World>, random: Random) => Promise<Result | void> | Result | void)[] = [
  () => undefined,
  () => ({ requeueDelay: 5000 }),
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
];

/** The engine itself: reconcilers that do anything, under every configuration, and the laws of its steps. */
export const scenario: Scenario<World> = {
  ids: ['a', 'b', 'c', 'd'],
  world: (random) => {
    const world: World = {
      laws: [],
      limits: {
        delayResolution: oneOf(random, 1, 100, 250),
        delayQueueSize: oneOf(random, 0, 1, 2, 100),
        maxItemRetries: oneOf(random, 0, 1, 3, Infinity),
        maxReconcileTime: oneOf(random, 0, 500, 1000),
        workerQueueSize: oneOf(random, 1, 2, 100),
        workerCount: oneOf(random, 1, 2, 3),
      },
    };
    worlds.set(random, world);
    return world;
  },
  // The laws are part of the world, and not to be copied when a read is stale.
  clone: (value) => value,
  changes: { event: () => undefined },
  streams: {
    watch: { on: ['event'], list: () => ['a', 'b', 'c', 'd'] },
    resync: { every: 30_000, list: () => ['d', 'c', 'b', 'a'] },
  },
  config: (random, { limits }) => ({ ...limits, backoff: oneOf(random, constant(1), constant(400), () => NaN) }),
  reconciler: ({ random, triggers }) => {
    const { laws, limits } = worlds.get(random)!;
    const ofProcess = new StepLaws(limits);
    laws.push(ofProcess);
    triggers.subscribe((trigger) => {
      ofProcess.arrive(trigger);
    });
    return (_, context) => oneOf(random, ...behaviours)(context, random) as Promise<void>;
  },
  converged: ({ laws }, at) => laws.at(-1)!.isAtRest(at),
  onStep: (step, { laws }, at, process) => {
    laws[process]!.see(step, at);
  },
};
