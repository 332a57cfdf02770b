import { Controller, noopLogger, observability } from 'kreconciler';
import { view } from 'kreconciler/view';
import { Subject } from 'rxjs';
import type { Contender } from '../contender.js';

/** A Controller with no SDK registered; `surround` puts something around it before it runs. */
function around(does: string, layerOver: string, surround: (controller: Controller) => unknown, history = 20): Contender {
  return {
    does,
    can: ['promise', 'sync', 'observable', 'retry'],
    layerOver,
    async open(work, config) {
      const drifted$ = new Subject<string>();
      const stop = new AbortController();
      const controller = new Controller(
        { ...config, history, leaderElectionEnabled: false, observability: observability({ logger: noopLogger }) },
        work,
        { drifted: drifted$ },
      );
      await surround(controller);
      void controller.run(stop.signal);
      return { push: (id) => drifted$.next(id), close: () => stop.abort() };
    },
  };
}

export const contender = around(
  '`Controller` with no SDK registered: `reconcile`, a leader gate, a context with a logger, steps for any number of observers, the last steps of each id',
  'kreconciler',
  () => undefined,
);

export const noHistory = around('`Controller` without a history', 'kreconciler', () => undefined, 0);

export const unseen = around('`Controller` with a `view` that nobody looks at', 'controller', (controller) => view(controller));

/** Counters for the charts, and one who reads the steps. */
export const seen = around('`Controller` with a page of its `view` open', 'controller', async (controller) => {
  const fetched = view(controller);
  const ask = (path: string): Promise<Response> => fetched(new Request(`http://localhost/api/default${path}`));
  const { body } = await ask('/steps');
  await ask('');
  void body?.pipeTo(new WritableStream());
});
