// Marks an id as busy and does not take the mark off when its signal aborts: it never runs again.
import type { Scenario } from 'kreconciler/testing';
import { except } from '../except.js';

interface World {
  wanted: Record<string, boolean>;
  stopped: Record<string, boolean>;
  started: Record<string, boolean>;
}

export const scenario: Scenario<World> = {
  world: () => ({ wanted: {}, stopped: {}, started: {} }),
  changes: {
    want: ({ wanted }, id) => {
      wanted[id] = true;
    },
  },
  streams: {
    watch: { on: ['want'], list: ({ wanted }) => Object.keys(wanted) },
    resync: { every: 60_000, list: ({ wanted }) => Object.keys(wanted) },
  },
  reconciler: () => {
    const busy = new Set<string>();
    return async (id, { effect, signal }) => {
      if (busy.has(id)) return;
      busy.add(id);
      try {
        await effect('stop', ({ stopped }) => {
          stopped[id] = true;
        });
      } catch (error) {
        busy.delete(id);
        throw error;
      }
      if (signal.aborted) return;
      busy.delete(id);
      await effect('start', ({ started }) => {
        started[id] = true;
      });
    };
  },
  converged: ({ wanted, started }) => Object.keys(wanted).every((id) => started[id] === true),
  faults: except('leadership', 'handover'),
};
