// Remembers across terms what it has done: what others did while it was not leading, it does not see.
import type { Scenario } from 'kreconciler/testing';
import { except } from '../except.js';

interface World {
  wanted: Record<string, number>;
  actual: Record<string, number>;
}

export const scenario: Scenario<World> = {
  world: () => ({ wanted: {}, actual: {} }),
  changes: {
    scale: ({ wanted }, id, random) => (wanted[id] = Math.floor(random() * 3)),
    meddle: ({ wanted, actual }, id) => {
      wanted[id] ??= 0;
      return (actual[id] = 9);
    },
  },
  streams: {
    watch: { on: ['scale', 'meddle'], list: ({ wanted }) => Object.keys(wanted) },
    resync: { every: 60_000, list: ({ wanted }) => Object.keys(wanted) },
  },
  reconciler: ({ triggers }) => {
    const done = new Map<string, number>();
    triggers.subscribe(({ id, message }) => {
      if (message !== undefined) done.delete(id);
    });
    return async (id, { read, effect }) => {
      const size = await read(({ wanted }) => wanted[id] ?? 0);
      if (done.get(id) === size) return;
      await effect('apply', ({ actual }) => {
        actual[id] = size;
      });
      done.set(id, size);
    };
  },
  converged: ({ wanted, actual }) => Object.keys(wanted).every((id) => wanted[id] === actual[id]),
  faults: except('drop', 'overtime', 'handover'),
};
