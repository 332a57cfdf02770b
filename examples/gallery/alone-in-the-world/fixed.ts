// The store refuses a number that is taken: whoever did not know of the other replica fails, and tries again.
import type { Scenario } from 'kreconciler/testing';
import { except } from '../except.js';

interface World {
  wanted: Record<string, boolean>;
  next: number;
  numbers: Record<string, number>;
}

export const scenario: Scenario<World> = {
  world: () => ({ wanted: {}, next: 0, numbers: {} }),
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
      const { number, isDone } = await read(({ next, numbers }) => ({ number: next, isDone: numbers[id] !== undefined }));
      if (isDone) return;
      await effect('assign', (world) => {
        if (world.next !== number) throw new Error('409 Conflict');
        world.numbers[id] = number;
        world.next = number + 1;
      });
    },
  converged: ({ wanted, numbers }) => Object.keys(wanted).every((id) => numbers[id] !== undefined),
  invariants: {
    'a number is given once': ({ numbers, next }) => {
      const given = Object.values(numbers);
      return new Set(given).size === given.length && given.length === next;
    },
  },
  faults: except('stale', 'slow', 'overtime'),
};
