// Believes no pause longer than the longest there can be: a clock that was set holds nothing up.
import type { Scenario } from 'kreconciler/testing';
import { except } from '../except.js';

interface World {
  wanted: Record<string, number>;
  actual: Record<string, number>;
  appliedAt: Record<string, number>;
}

const PAUSE = 5000;

export const scenario: Scenario<World> = {
  world: () => ({ wanted: {}, actual: {}, appliedAt: {} }),
  changes: {
    scale: ({ wanted }, id, random) => {
      wanted[id] = Math.floor(random() * 10);
    },
  },
  streams: {
    watch: { on: ['scale'], list: ({ wanted }) => Object.keys(wanted) },
    resync: { every: 60_000, list: ({ wanted }) => Object.keys(wanted) },
  },
  reconciler:
    ({ now }) =>
    async (id, { read, effect }) => {
      const { size, isDone, since } = await read(({ wanted, actual, appliedAt }) => ({
        size: wanted[id] ?? 0,
        isDone: wanted[id] === actual[id],
        since: appliedAt[id] ?? -Infinity,
      }));
      if (isDone) return {};
      const pause = since + PAUSE - now();
      if (pause > 0 && pause <= PAUSE) return { requeueDelay: pause };
      await effect('apply', ({ actual, appliedAt }) => {
        actual[id] = size;
        appliedAt[id] = now();
      });
      return {};
    },
  converged: ({ wanted, actual }) => Object.keys(wanted).every((id) => wanted[id] === actual[id]),
  faults: except('stale', 'handover'),
};
