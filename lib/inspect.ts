import type { Counts, Snapshot, WorkerCounts } from '../operators/snapshots.js';
import type { Workqueue } from '../operators/workqueue.js';

/** One id that is not idle. */
export interface InspectedId {
  readonly id: string;
  readonly worker: number;
  readonly state: keyof Counts;
  /** The attempt it is in or waits for; 1 = first run. */
  readonly attempt: number;
  /** When it is woken, in ms on the scheduler's clock, if it waits for that. */
  readonly until?: number;
}

/** A {@link Snapshot} with the ids in it. */
export interface Inspection extends Snapshot {
  readonly leading: boolean;
  readonly ids: readonly InspectedId[];
  /** The event streams that have completed in this term while others go on, if there are any. */
  readonly completed?: readonly string[];
}

/** Looks at the workqueues of a loop, and says which of its streams have completed. */
export function inspect(leading: boolean, queues: readonly Workqueue[], completed: readonly string[]): Inspection {
  const ids = queues.flatMap((queue) =>
    Array.from(queue.entries, ({ id, state, attempt, tick }): InspectedId => {
      const seen = { id, worker: queue.worker, state, attempt };
      return tick === undefined ? seen : { ...seen, until: tick.due };
    }),
  );
  const workers = queues
    .map(({ worker }): WorkerCounts => ({ worker, ...counts(ids.filter((seen) => seen.worker === worker)) }))
    .sort((a, b) => a.worker - b.worker);
  return { leading, ...counts(ids), workers, ids, ...(completed.length > 0 && { completed }) };
}

function counts(ids: readonly InspectedId[]): Counts {
  const all = { ready: 0, running: 0, waiting: 0, abandoned: 0 };
  for (const { state } of ids) all[state]++;
  return all;
}
