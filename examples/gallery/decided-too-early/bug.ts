// Decides by what it read a while ago: a slow call later, it starts what was stopped meanwhile.
import type { Scenario } from 'kreconciler/testing';
import { except } from '../except.js';

interface World {
  wanted: Record<string, boolean>;
  running: Record<string, boolean>;
  wasForced: boolean;
}

export const scenario: Scenario<World> = {
  world: () => ({ wanted: {}, running: {}, wasForced: false }),
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
      const isWanted = (await read(({ wanted }) => wanted[id])) === true;
      await effect(isWanted ? 'start' : 'stop', (world) => {
        if (isWanted && world.wanted[id] !== true) world.wasForced = true;
        world.running[id] = isWanted;
      });
    },
  converged: ({ wanted, running }) => Object.keys(wanted).every((id) => wanted[id] === (running[id] ?? false)),
  invariants: { 'nothing starts against the will of its owner': ({ wasForced }) => !wasForced },
  faults: except('stale', 'overtime'),
};
