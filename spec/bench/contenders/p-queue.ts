import PQueue from 'p-queue';
import type { Contender } from '../contender.js';

export const contender: Contender = {
  does: 'a queue with a concurrency and priorities; no dedup, not serial per id, no retry, a promise an id',
  can: ['promise'],
  open(work, { workerCount = 1 }) {
    const queue = new PQueue({ concurrency: workerCount });
    return { push: (id) => void queue.add(() => work(id) as Promise<unknown>) };
  },
};
