import { Mutex, Semaphore } from 'async-mutex';
import type { Contender } from '../contender.js';

export const contender: Contender = {
  does: 'what is hand-rolled with async-mutex: a mutex an id and a semaphore over all; serial per id; no dedup, no retry, no timeout',
  can: ['promise'],
  open(work, { workerCount = 1 }) {
    const workers = new Semaphore(workerCount);
    const mutexes = new Map<string, Mutex>();
    async function reconcile(id: string): Promise<void> {
      const mutex = mutexes.get(id) ?? new Mutex();
      mutexes.set(id, mutex);
      await mutex.runExclusive(() => workers.runExclusive(() => work(id) as Promise<unknown>));
      if (!mutex.isLocked()) mutexes.delete(id);
    }
    return { push: (id) => void reconcile(id) };
  },
};
