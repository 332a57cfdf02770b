// Keeps the newest version that it has heard of, in whichever order they come.
import type { Scenario } from 'kreconciler/testing';
import { except } from '../except.js';

interface World {
  wanted: Record<string, number>;
  applied: Record<string, number>;
}

export const scenario: Scenario<World> = {
  world: () => ({ wanted: {}, applied: {} }),
  changes: {
    release: ({ wanted }, id) => (wanted[id] = (wanted[id] ?? 0) + 1),
  },
  streams: {
    watch: { on: ['release'], list: ({ wanted }) => Object.keys(wanted) },
    resync: { every: 60_000, list: ({ wanted }) => Object.keys(wanted) },
  },
  reconciler: ({ triggers }) => {
    const latest = new Map<string, number>();
    triggers.subscribe(({ id, message }) => {
      if (typeof message === 'number') latest.set(id, Math.max(message, latest.get(id) ?? 0));
    });
    return async (id, { read, effect }) => {
      const version = latest.get(id) ?? (await read(({ wanted }) => wanted[id] ?? 0));
      await effect('apply', ({ applied }) => {
        applied[id] = version;
      });
    };
  },
  converged: ({ wanted, applied }) => Object.keys(wanted).every((id) => wanted[id] === applied[id]),
  faults: except('drop', 'duplicate', 'leadership', 'handover'),
};
