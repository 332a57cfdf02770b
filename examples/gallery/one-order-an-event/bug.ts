// Takes each event for an order: an event that comes twice is shipped twice.
import type { Scenario } from 'kreconciler/testing';

interface World {
  wanted: Record<string, number>;
  shipped: Record<string, number>;
}

export const scenario: Scenario<World> = {
  world: () => ({ wanted: {}, shipped: {} }),
  changes: {
    order: ({ wanted }, id) => (wanted[id] = (wanted[id] ?? 0) + 1),
  },
  streams: {
    watch: { on: ['order'], list: ({ wanted }) => Object.keys(wanted) },
    resync: { every: 60_000, list: ({ wanted }) => Object.keys(wanted) },
  },
  reconciler: ({ triggers }) => {
    const orders = new Map<string, number>();
    triggers.subscribe(({ id, message }) => {
      if (message !== undefined) orders.set(id, (orders.get(id) ?? 0) + 1);
    });
    return async (id, { read, effect }) => {
      const left = await read(({ wanted, shipped }) => (wanted[id] ?? 0) - (shipped[id] ?? 0));
      // Events that were lost are found by the resync.
      const count = orders.get(id) ?? left;
      orders.delete(id);
      await effect('ship', ({ shipped }) => {
        shipped[id] = (shipped[id] ?? 0) + count;
      });
    };
  },
  converged: ({ wanted, shipped }) => Object.keys(wanted).every((id) => wanted[id] === shipped[id]),
  invariants: {
    'no more is shipped than was ordered': ({ wanted, shipped }) =>
      Object.keys(shipped).every((id) => (shipped[id] ?? 0) <= (wanted[id] ?? 0)),
  },
  faults: ['crash', 'fail', 'lost', 'drop', 'duplicate', 'clock'],
};
