import type fc from 'fast-check';
import { ScenarioError } from './failure.js';
import { mixed, nextState } from './random.js';
import type { ArbitraryLike, Random, Scenario } from './scenario.js';
import type { Draw, PlannedChange } from './schedule.js';

/** What of fast-check is used: an optional peer, loaded only for scenarios whose changes have `values`. */
type FastCheck = typeof fc;

/** How the changes of `scenario` come to their values: from fast-check where they say so, else from a seed of their own. */
export async function drawFor<W>({ changes }: Scenario<W>): Promise<Draw> {
  const arbitraries = new Map(
    Object.entries(changes).flatMap(([name, change]) => (typeof change === 'function' ? [] : [[name, change.values] as const])),
  );
  const seed = (random: Random): number => Math.floor(random() * 2 ** 32);
  if (arbitraries.size === 0) return (random) => ({ value: seed(random) });
  const { Random: FastCheckRandom } = await fastCheck();
  return (random, name) => {
    const arbitrary = arbitraries.get(name) as Shrinkable | undefined;
    if (arbitrary === undefined) return { value: seed(random) };
    return shrinkable(arbitrary, arbitrary.generate(new FastCheckRandom(generatorFrom(seed(random))), undefined));
  };
}

interface RandomGenerator {
  clone(): RandomGenerator;
  next(): number;
  getState(): readonly number[];
}

interface Shrinkable extends ArbitraryLike<unknown> {
  generate(random: unknown, bias: number | undefined): Drawn;
  shrink(value: unknown, context: unknown): Iterable<Drawn>;
}
interface Drawn {
  readonly value: unknown;
  readonly value_: unknown;
  readonly context: unknown;
}

function shrinkable(arbitrary: Shrinkable, { value, value_, context }: Drawn): Pick<PlannedChange, 'value' | 'simpler'> {
  return {
    value,
    *simpler() {
      for (const drawn of arbitrary.shrink(value_, context)) yield shrinkable(arbitrary, drawn);
    },
  };
}

/** Our chance in the form in which fast-check takes it. */
function generatorFrom(seed: number): RandomGenerator {
  let state = seed | 0;
  return {
    clone: () => generatorFrom(state),
    next: () => mixed((state = nextState(state))),
    getState: () => [state],
  };
}

async function fastCheck(): Promise<FastCheck> {
  try {
    return await import('fast-check');
  } catch (error) {
    throw new ScenarioError(
      'A change of the scenario has `values`, which are drawn by fast-check, and that could not be loaded. Is it installed (npm i -D fast-check)?',
      { cause: error },
    );
  }
}
