// Deletes the record first and then what only the record knows: a crash or failure in between leaves it for ever.
import type { Scenario } from 'kreconciler/testing';
import { except } from '../except.js';

interface World {
  wanted: Record<string, boolean>;
  records: Record<string, boolean>;
  machines: Record<string, boolean>;
}

export const scenario: Scenario<World> = {
  world: () => ({ wanted: {}, records: {}, machines: {} }),
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
      const { isWanted, isKnown } = await read(({ wanted, records }) => ({ isWanted: wanted[id] === true, isKnown: records[id] === true }));
      const put = (name: 'records' | 'machines', value: boolean): Promise<void> =>
        effect(`${name}: ${String(value)}`, (world) => {
          world[name][id] = value;
        });
      if (isWanted) {
        await put('records', true);
        await put('machines', true);
      } else if (isKnown) {
        await put('records', false);
        await put('machines', false);
      }
    },
  converged: ({ wanted, machines }) => Object.keys(wanted).every((id) => wanted[id] === (machines[id] ?? false)),
  faults: except('overtime', 'leadership', 'handover'),
};
