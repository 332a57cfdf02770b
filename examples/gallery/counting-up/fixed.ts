// Says what should be instead of what to add: repeated, it changes nothing.
import type { Scenario } from 'kreconciler/testing';
import { except } from '../except.js';

interface World {
  wanted: Record<string, number>;
  shipped: Record<string, number>;
}

export const scenario: Scenario<World> = {
  world: () => ({ wanted: {}, shipped: {} }),
  changes: {
    order: ({ wanted }, id) => {
      wanted[id] = (wanted[id] ?? 0) + 1;
    },
  },
  streams: {
    watch: { on: ['order'], list: ({ wanted }) => Object.keys(wanted) },
    resync: { every: 60_000, list: ({ wanted }) => Object.keys(wanted) },
  },
  reconciler:
    () =>
    async (id, { read, effect }) => {
      const { total, isDone } = await read(({ wanted, shipped }) => ({ total: wanted[id] ?? 0, isDone: wanted[id] === shipped[id] }));
      if (isDone) return;
      const ship = ({ shipped }: World): void => {
        shipped[id] = total;
      };
      await effect('ship', ship).catch(() => effect('ship', ship));
    },
  converged: ({ wanted, shipped }) => Object.keys(wanted).every((id) => wanted[id] === shipped[id]),
  invariants: {
    'no more is shipped than was ordered': ({ wanted, shipped }) =>
      Object.keys(shipped).every((id) => (shipped[id] ?? 0) <= (wanted[id] ?? 0)),
  },
  faults: except('stale', 'handover'),
};
