// Gives the server a name that follows from the id: the next run makes the same one, and no other.
import type { Scenario } from 'kreconciler/testing';
import { except } from '../except.js';

interface World {
  wanted: Record<string, boolean>;
  servers: Record<string, string>;
  recorded: Record<string, string>;
}

export const scenario: Scenario<World> = {
  world: () => ({ wanted: {}, servers: {}, recorded: {} }),
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
    const names = new Map<string, string>();
    return async (id, { read, effect }) => {
      if ((await read(({ recorded }) => recorded[id])) !== undefined) return;
      const name = names.get(id) ?? `${id}-0`;
      names.set(id, name);
      await effect('create', ({ servers }) => {
        servers[name] = id;
      });
      await effect('record', ({ recorded }) => {
        recorded[id] = name;
      });
    };
  },
  converged: ({ wanted, servers, recorded }) =>
    Object.keys(wanted).every((id) => recorded[id] !== undefined) && Object.entries(servers).every(([name, id]) => recorded[id] === name),
  faults: except('leadership', 'handover'),
};
