import { FAULTS, type Scenario, simulate } from 'kreconciler/testing';
import { bench, describe } from 'vitest';

interface World {
  wanted: Record<string, number>;
  actual: Record<string, number>;
}

const ids = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j'];

const scenario: Scenario<World> = {
  ids,
  world: () => ({ wanted: {}, actual: {} }),
  changes: {
    scale: ({ wanted }, id, random) => {
      wanted[id] = Math.floor(random() * 3);
    },
  },
  streams: {
    watch: { on: ['scale'], list: ({ wanted }) => Object.keys(wanted) },
    resync: { every: 60_000, list: ({ wanted }) => Object.keys(wanted) },
  },
  reconciler:
    () =>
    async (id, { read, effect }) => {
      const { size, isDone } = await read(({ wanted, actual }) => ({ size: wanted[id] ?? 0, isDone: wanted[id] === actual[id] }));
      if (isDone) return;
      await effect('resize', ({ actual }) => {
        actual[id] = size;
      });
    },
  converged: ({ wanted, actual }) => ids.every((id) => wanted[id] === actual[id]),
};

// 99 events at most are 50 on average. 1 iteration is 200 scenarios: 2,000 a second are 10 iterations a second.
describe('200 scenarios of 10 ids and 50 events', () => {
  bench('without faults', async () => {
    await simulate(scenario, { runs: 200, events: 99, kinds: [] });
  });
  bench('with every fault', async () => {
    await simulate(scenario, { runs: 200, events: 99, kinds: FAULTS });
  });
});
