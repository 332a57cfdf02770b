// Lists all ids every minute, and so finds what no event said.
import type { Scenario } from 'kreconciler/testing';
import { except } from '../except.js';

interface World {
  wanted: Record<string, number>;
  actual: Record<string, number>;
}

export const scenario: Scenario<World> = {
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
      await effect('scale down or up', ({ actual }) => {
        actual[id] = size;
      });
    },
  converged: ({ wanted, actual }) => Object.keys(wanted).every((id) => wanted[id] === actual[id]),
  faults: except('stale', 'handover'),
};
