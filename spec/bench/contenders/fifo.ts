import type { Contender } from '../contender.js';
import { hash } from '../hash.js';

interface Item {
  readonly id: string;
  attempt: number;
}

/** The least that can be done: the physical minimum of the cases that measure latency, and of a retry. */
export const contender: Contender = {
  does: 'the physical minimum: an array a lane and one a tick, and a loop over it; serial per id, and nothing else',
  can: ['promise', 'retry'],
  open(work, { workerCount = 1, scheduler, delayResolution = 250, backoff = () => 0 }) {
    const lanes = Array.from({ length: workerCount }, () => ({ items: [] as Item[], busy: false }));
    type Lane = (typeof lanes)[number];
    const ticks = new Map<number, (readonly [Lane, Item])[]>();
    async function run(lane: Lane): Promise<void> {
      lane.busy = true;
      for (let i = 0; i < lane.items.length; i++) {
        const item = lane.items[i]!;
        try {
          await (work(item.id, item) as Promise<unknown>);
        } catch (error) {
          retry(lane, item, backoff(item.attempt++, error));
        }
      }
      lane.items.length = 0;
      lane.busy = false;
    }
    function retry(lane: Lane, item: Item, delay: number): void {
      if (scheduler === undefined) throw new TypeError('Expected `scheduler`, for an item is to be retried');
      const now = scheduler.now();
      const due = Math.ceil((now + delay) / delayResolution) * delayResolution;
      if (!ticks.has(due)) {
        ticks.set(due, []);
        scheduler.schedule(() => {
          for (const [lane, item] of ticks.get(due) ?? []) push(lane, item);
          ticks.delete(due);
        }, due - now);
      }
      ticks.get(due)!.push([lane, item]);
    }
    function push(lane: Lane, item: Item): void {
      lane.items.push(item);
      if (!lane.busy) void run(lane);
    }
    return {
      push(id) {
        push(lanes[hash(id, workerCount)]!, { id, attempt: 1 });
      },
    };
  },
};
