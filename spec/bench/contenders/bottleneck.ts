import Bottleneck from 'bottleneck';
import type { Contender } from '../contender.js';

export const contender: Contender = {
  does: 'a rate limiter with a concurrency; no dedup, not serial per id, no retry unless hand-written, a promise an id',
  can: ['promise'],
  open(work, { workerCount = 1 }) {
    const limiter = new Bottleneck({ maxConcurrent: workerCount });
    return { push: (id) => void limiter.schedule(() => work(id) as Promise<unknown>) };
  },
};
