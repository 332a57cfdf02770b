// Makes what is wanted, and forgets to remove what is not wanted any more.
import type { Scenario } from 'kreconciler/testing';

interface World {
  wanted: Record<string, boolean>;
  records: Record<string, boolean>;
}

export const scenario: Scenario<World> = {
  world: () => ({ wanted: {}, records: {} }),
  changes: {
    want: ({ wanted }, id) => {
      wanted[id] = true;
    },
    drop: ({ wanted }, id) => {
      wanted[id] = false;
    },
  },
  streams: {
    watch: { on: ['want', 'drop'], list: ({ wanted }) => Object.keys(wanted) },
    resync: { every: 60_000, list: ({ wanted }) => Object.keys(wanted) },
  },
  reconciler:
    () =>
    async (id, { read, effect }) => {
      const isWanted = await read(({ wanted }) => wanted[id]);
      if (isWanted !== true) return;
      await effect('put', ({ records }) => {
        records[id] = true;
      });
    },
  converged: ({ wanted, records }) => Object.keys(wanted).every((id) => wanted[id] === (records[id] ?? false)),
};
