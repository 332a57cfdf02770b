// Reads what is wanted now: an event only says which id to look at.
import type { Scenario } from 'kreconciler/testing';
import { except } from '../except.js';

interface World {
  wanted: Record<string, number>;
  applied: Record<string, number>;
  hasGoneBack: boolean;
}

export const scenario: Scenario<World> = {
  world: () => ({ wanted: {}, applied: {}, hasGoneBack: false }),
  changes: {
    release: ({ wanted }, id) => (wanted[id] = (wanted[id] ?? 0) + 1),
  },
  streams: {
    watch: { on: ['release'], list: ({ wanted }) => Object.keys(wanted) },
    resync: { every: 60_000, list: ({ wanted }) => Object.keys(wanted) },
  },
  reconciler: ({ triggers }) => {
    const seen = new Map<string, number>();
    const asked = new Map<string, number>();
    triggers.subscribe(({ id, message }) => {
      if (typeof message !== 'number' || message <= (seen.get(id) ?? 0)) return;
      seen.set(id, message);
      asked.set(id, message);
    });
    return async (id, { read, effect }) => {
      const version = await read(({ wanted }) => wanted[id] ?? 0);
      asked.delete(id);
      await effect('apply', (world) => {
        if (version < (world.applied[id] ?? 0)) world.hasGoneBack = true;
        world.applied[id] = version;
      });
    };
  },
  converged: ({ wanted, applied }) => Object.keys(wanted).every((id) => wanted[id] === applied[id]),
  invariants: { 'no version is rolled back': ({ hasGoneBack }) => !hasGoneBack },
  faults: except('crash', 'stale', 'handover'),
};
