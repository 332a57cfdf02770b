// Does what the events say instead of what is: what it has not heard of, or forgotten in a crash, it never does.
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
  reconciler: ({ triggers }) => {
    const sizes = new Map<string, unknown>();
    triggers.subscribe(({ id, message }) => {
      if (message !== undefined) sizes.set(id, message);
    });
    return async (id, { effect }) => {
      const size = sizes.get(id);
      await effect('resize', ({ actual }) => {
        if (typeof size === 'number') actual[id] = size;
      });
    };
  },
  converged: ({ wanted, actual }) => Object.keys(wanted).every((id) => wanted[id] === actual[id]),
};
