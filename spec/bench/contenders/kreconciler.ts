import { reconcile } from 'kreconciler/operators';
import { Subject } from 'rxjs';
import type { Contender } from '../contender.js';

export const contender: Contender = {
  does: '`reconcile` alone: dedup, serial per id, retries with backoff, timeout, three steps an id',
  can: ['promise', 'sync', 'observable', 'retry', 'ordered'],
  open(work, config) {
    const drifted$ = new Subject<string>();
    const loop = drifted$.pipe(reconcile(work, config)).subscribe();
    return { push: (id) => drifted$.next(id), close: () => loop.unsubscribe() };
  },
};
