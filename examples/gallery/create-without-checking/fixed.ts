// Looks and creates in one effect: what is there already is not made again.
import type { Scenario } from 'kreconciler/testing';

interface World {
  wanted: Record<string, boolean>;
  machines: string[];
}

export const scenario: Scenario<World> = {
  world: () => ({ wanted: {}, machines: [] }),
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
      await effect('create', ({ machines }) => {
        if (!machines.includes(id)) machines.push(id);
      });
    },
  converged: ({ wanted, machines }) => Object.keys(wanted).every((id) => machines.includes(id)),
  invariants: { 'one machine an id': ({ machines }) => new Set(machines).size === machines.length },
};
