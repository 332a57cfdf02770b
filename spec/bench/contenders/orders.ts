import Bottleneck from 'bottleneck';
import { byPriority, fair, type ReconcileConfig, reconcile } from 'kreconciler/operators';
import PQueue from 'p-queue';
import { Subject } from 'rxjs';
import type { Contender } from '../contender.js';
import { rankOf } from '../ids.js';

/** `reconcile` with more than its defaults. */
const layer = (does: string, more: ReconcileConfig, can: Contender['can']): Contender => ({
  does,
  can,
  layerOver: 'kreconciler',
  open(work, config) {
    const drifted$ = new Subject<{ id: string; priority: number }>();
    const loop = drifted$.pipe(reconcile(work, { ...config, ...more })).subscribe();
    return { push: (id) => drifted$.next({ id, priority: rankOf(id) }), close: () => loop.unsubscribe() };
  },
});

export const priorities = layer('`reconcile` with `order: byPriority()`', { order: byPriority() }, ['ordered']);
export const shares = layer('`reconcile` with `order: fair({ key })`', { order: fair({ key: (id) => String(rankOf(id)) }) }, ['ordered']);
export const sixteen = layer('`reconcile` with `workerConcurrency: 16`', { workerConcurrency: 16 }, ['promise']);

export const queue: Contender = {
  does: 'p-queue with a priority for each id; nothing gains priority by waiting',
  can: ['ordered'],
  open(work, { workerCount = 1 }) {
    const queue = new PQueue({ concurrency: workerCount });
    return { push: (id) => void queue.add(() => work(id) as Promise<unknown>, { priority: rankOf(id) }) };
  },
};

export const groups: Contender = {
  does: 'bottleneck with a group for each key, each with a concurrency of 1: all keys run at once',
  can: ['ordered'],
  open(work) {
    const group = new Bottleneck.Group({ maxConcurrent: 1 });
    return {
      push: (id) => void group.key(String(rankOf(id))).schedule(() => work(id) as Promise<unknown>),
      close: () => group.disconnect(),
    };
  },
};
