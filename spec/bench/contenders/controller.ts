import { Controller, noopLogger, observability } from 'kreconciler';
import { Subject } from 'rxjs';
import type { Contender } from '../contender.js';

export const contender: Contender = {
  does: '`Controller` with no SDK registered: `reconcile`, a leader gate, a context with a logger, steps for any number of observers',
  can: ['promise', 'sync', 'observable', 'retry'],
  layerOver: 'kreconciler',
  open(work, config) {
    const drifted$ = new Subject<string>();
    const stop = new AbortController();
    const controller = new Controller(
      { ...config, leaderElectionEnabled: false, observability: observability({ logger: noopLogger }) },
      work,
      { drifted: drifted$ },
    );
    void controller.run(stop.signal);
    return { push: (id) => drifted$.next(id), close: () => stop.abort() };
  },
};
