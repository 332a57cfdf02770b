import type { Contender } from '../contender.js';
import { hash } from '../hash.js';

/** The least that can be done: the physical minimum of the cases that measure latency. */
export const contender: Contender = {
  does: 'the physical minimum: an array a lane and a loop over it; serial per id, and nothing else',
  can: ['promise'],
  open(work, { workerCount = 1 }) {
    const lanes = Array.from({ length: workerCount }, () => ({ ids: [] as string[], busy: false }));
    async function run(lane: { ids: string[]; busy: boolean }): Promise<void> {
      lane.busy = true;
      for (let i = 0; i < lane.ids.length; i++) await (work(lane.ids[i] as string) as Promise<unknown>);
      lane.ids.length = 0;
      lane.busy = false;
    }
    return {
      push(id) {
        const lane = lanes[hash(id, workerCount)]!;
        lane.ids.push(id);
        if (!lane.busy) void run(lane);
      },
    };
  },
};
