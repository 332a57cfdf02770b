import { VirtualTimeScheduler } from 'rxjs';
import type { Case } from '../case.js';
import type { Ability, Work } from '../contender.js';
import { distinct } from '../ids.js';

/** What one id costs that is there and does nothing, beyond its string. */
export function memory(state: 'ready' | 'waiting'): Case {
  return {
    title: `memory of an id that is ${state}, with 1,000,000 of them`,
    needs: NEEDS[state],
    columns: [{ key: 'bytes', label: 'bytes an id', digits: 0 }],
    flags: ['--expose-gc'],
    async measure(load, scale) {
      const contender = await load();
      const ids = distinct(1e6 * scale);
      const queue = await contender.open(WORK[state], {
        scheduler: new VirtualTimeScheduler(),
        workerQueueSize: Infinity,
        delayQueueSize: Infinity,
      });
      const before = await heap();
      for (const id of ids) queue.push(id);
      const bytes = ((await heap()) - before) / ids.length;
      // Used once more, or they would be collected before they were counted.
      queue.push(ids.at(-1) as string);
      return { bytes };
    },
  };
}

const NEEDS: Readonly<Record<'ready' | 'waiting', Ability>> = { ready: 'promise', waiting: 'retry' };

const ERROR = new Error('it waits');
const hung = new Promise<void>(() => {});

const WORK: Readonly<Record<'ready' | 'waiting', Work>> = {
  /** The first id never ends, so that the others are ready for good. */
  ready: () => hung,
  waiting: async () => {
    throw ERROR;
  },
};

async function heap(): Promise<number> {
  for (let i = 0; i < 3; i++) {
    await new Promise(setImmediate);
    gc?.();
  }
  return process.memoryUsage().heapUsed;
}
