// Creates the volume first, and attaches what is there.
import type { Scenario } from 'kreconciler/testing';

interface World {
  wanted: Record<string, boolean>;
  volumes: Record<string, boolean>;
  attached: Record<string, boolean>;
}

export const scenario: Scenario<World> = {
  world: () => ({ wanted: {}, volumes: {}, attached: {} }),
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
    async (id, { effect }) => {
      await effect('create volume', ({ volumes }) => {
        volumes[id] = true;
      });
      await effect('attach', ({ attached }) => {
        attached[id] = true;
      });
    },
  converged: ({ wanted, volumes, attached }) => Object.keys(wanted).every((id) => volumes[id] === true && attached[id] === true),
  invariants: { 'what is attached exists': ({ volumes, attached }) => Object.keys(attached).every((id) => volumes[id] === true) },
};
