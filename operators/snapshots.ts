import { defer, map, type OperatorFunction } from 'rxjs';
import { IdState } from './id-state.js';
import type { Step } from './types.js';

/** How many ids are in each state. */
export interface Counts {
  readonly ready: number;
  readonly running: number;
  readonly waiting: number;
  readonly abandoned: number;
}

/** The counts of one lane. */
export interface WorkerCounts extends Counts {
  readonly worker: number;
}

/** The counts of a loop, and of each lane that has had an id, by number. */
export interface Snapshot extends Counts {
  readonly workers: readonly WorkerCounts[];
}

type Place = IdState['counted'];

const NOTHING: Counts = { ready: 0, running: 0, waiting: 0, abandoned: 0 };

/**
 * After each step, how many ids are ready, running, waiting and abandoned, in all and in each lane. No count is ever
 * negative, also where the subscription begins in the middle of a loop's life. Completes and errors with the source.
 *
 * @example
 * steps$.pipe(snapshots(), auditTime(1000)).subscribe(({ ready, running }) => show(ready, running));
 */
export function snapshots(): OperatorFunction<Step, Snapshot> {
  return (steps) =>
    defer(() => {
      const ids = new Map<string, IdState>();
      const workers: WorkerCounts[] = [];
      return steps.pipe(
        map((step) => {
          if (step.worker >= 0) {
            const id = ids.get(step.id) ?? new IdState();
            const before = id.counted;
            id.follow(step);
            if (id.counted === 'idle') ids.delete(step.id);
            else ids.set(step.id, id);
            count(workers, step.worker, before, id.counted);
          }
          return total(workers);
        }),
      );
    });
}

function count(workers: WorkerCounts[], worker: number, before: Place, after: Place): void {
  let at = workers.findIndex((counts) => counts.worker >= worker);
  if (at < 0) at = workers.length;
  if (workers[at]?.worker !== worker) workers.splice(at, 0, { worker, ...NOTHING });
  workers[at] = moved(moved(workers[at] as WorkerCounts, before, -1), after, 1);
}

function moved(counts: WorkerCounts, place: Place, by: 1 | -1): WorkerCounts {
  return place === 'idle' ? counts : { ...counts, [place]: counts[place] + by };
}

function total(workers: readonly WorkerCounts[]): Snapshot {
  const sum = (key: keyof Counts): number => workers.reduce((all, counts) => all + counts[key], 0);
  return { ready: sum('ready'), running: sum('running'), waiting: sum('waiting'), abandoned: sum('abandoned'), workers: [...workers] };
}
