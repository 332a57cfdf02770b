// The store refuses to create what is there already: the run fails, and the retry reads anew.
import type { Scenario } from 'kreconciler/testing';
import { except } from '../except.js';

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
    async (id, { read, effect }) => {
      if (await read(({ machines }) => machines.includes(id))) return;
      await effect('create', ({ machines }) => {
        if (machines.includes(id)) throw new Error('409 Conflict');
        machines.push(id);
      });
    },
  converged: ({ wanted, machines }) => Object.keys(wanted).every((id) => machines.includes(id)),
  invariants: { 'one machine an id': ({ machines }) => new Set(machines).size === machines.length },
  faults: except('handover'),
};
