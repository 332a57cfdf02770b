// Swallows the error of the change and records that it was done.
import type { Scenario } from 'kreconciler/testing';
import { except } from '../except.js';

interface World {
  wanted: Record<string, number>;
  actual: Record<string, number>;
  done: Record<string, number>;
}

export const scenario: Scenario<World> = {
  world: () => ({ wanted: {}, actual: {}, done: {} }),
  changes: {
    scale: ({ wanted }, id) => {
      wanted[id] = (wanted[id] ?? 0) + 1;
    },
  },
  streams: {
    watch: { on: ['scale'], list: ({ wanted }) => Object.keys(wanted) },
    resync: { every: 60_000, list: ({ wanted }) => Object.keys(wanted) },
  },
  reconciler:
    () =>
    async (id, { read, effect }) => {
      const { size, done } = await read(({ wanted, done }) => ({ size: wanted[id] ?? 0, done: done[id] }));
      if (size === done) return;
      try {
        await effect('resize', ({ actual }) => {
          actual[id] = size;
        });
      } catch {
        // It will be right the next time.
      }
      await effect('record', ({ done }) => {
        done[id] = size;
      });
    },
  converged: ({ wanted, actual }) => Object.keys(wanted).every((id) => wanted[id] === actual[id]),
  faults: except('leadership', 'handover'),
};
