// Reads what is wanted when it runs: an event only says which id to look at.
import type { Scenario } from 'kreconciler/testing';

interface World {
  wanted: Record<string, number>;
  actual: Record<string, number>;
}

export const scenario: Scenario<World> = {
  world: () => ({ wanted: {}, actual: {} }),
  changes: {
    scale: ({ wanted }, id, random) => (wanted[id] = Math.floor(random() * 10)),
  },
  streams: {
    watch: { on: ['scale'], list: ({ wanted }) => Object.keys(wanted) },
    resync: { every: 60_000, list: ({ wanted }) => Object.keys(wanted) },
  },
  reconciler: () => {
    return async (id, { read, effect }) => {
      const size = await read(({ wanted }) => wanted[id]);
      await effect('resize', ({ actual }) => {
        if (typeof size === 'number') actual[id] = size;
      });
    };
  },
  converged: ({ wanted, actual }) => Object.keys(wanted).every((id) => wanted[id] === actual[id]),
};
