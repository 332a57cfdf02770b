import fastq from 'fastq';
import type { Contender } from '../contender.js';

export const contender: Contender = {
  does: 'promise API: a queue with a concurrency; no dedup, not serial per id, no retry, no timeout, a promise an id',
  can: ['promise'],
  open(work, { workerCount = 1 }) {
    const queue = fastq.promise(work as (id: string) => Promise<unknown>, workerCount);
    return { push: (id) => void queue.push(id) };
  },
};
