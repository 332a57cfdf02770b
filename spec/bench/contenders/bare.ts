import { concatMap, groupBy, mergeMap, type ObservableInput, Subject } from 'rxjs';
import type { Contender } from '../contender.js';
import { hash } from '../hash.js';

export const contender: Contender = {
  does: '`groupBy` + `concatMap`, nothing else: serial per id; no dedup, no retry, no timeout, the value of each run',
  can: ['promise', 'observable'],
  open(work, { workerCount = 1 }) {
    const drifted$ = new Subject<string>();
    const loop = drifted$
      .pipe(
        groupBy((id) => hash(id, workerCount)),
        mergeMap((lane$) => lane$.pipe(concatMap(work as (id: string) => ObservableInput<unknown>))),
      )
      .subscribe();
    return { push: (id) => drifted$.next(id), close: () => loop.unsubscribe() };
  },
};
