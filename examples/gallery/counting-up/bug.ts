// Says what to add instead of what should be: repeated after an answer was lost, it adds twice.
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
      const left = await read(({ wanted, shipped }) => (wanted[id] ?? 0) - (shipped[id] ?? 0));
      if (left <= 0) return;
      const ship = ({ shipped }: World): void => {
        shipped[id] = (shipped[id] ?? 0) + left;
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
