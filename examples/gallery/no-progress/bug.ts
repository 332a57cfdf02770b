// Waits for something that it ought to do itself: once it has only half begun, it asks to look again for ever.
import type { Scenario } from 'kreconciler/testing';

interface World {
  wanted: Record<string, boolean>;
  phase: Record<string, 'starting' | 'started'>;
}

export const scenario: Scenario<World> = {
  world: () => ({ wanted: {}, phase: {} }),
  changes: {
    want: ({ wanted }, id) => {
      wanted[id] = true;
    },
  },
  streams: {
    watch: { on: ['want'], list: ({ wanted }) => Object.keys(wanted) },
    resync: { every: 60_000, list: ({ wanted }) => Object.keys(wanted) },
  },
  reconciler:
    () =>
    async (id, { read, effect }) => {
      const before = await read(({ phase }) => phase[id]);
      if (before === 'started') return;
      if (before === 'starting') return { requeueDelay: 1000 };
      await effect('announce', ({ phase }) => {
        phase[id] = 'starting';
      });
      await effect('start', ({ phase }) => {
        phase[id] = 'started';
      });
      return {};
    },
  converged: ({ wanted, phase }) => Object.keys(wanted).every((id) => phase[id] === 'started'),
};
