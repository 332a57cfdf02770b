import { defer, map, type OperatorFunction } from 'rxjs';
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

/** What the steps of an id so far say about it. An abandoned id may have a wake-up ahead of it, so that is a thing apart. */
interface Known {
  readonly state: 'idle' | 'ready' | 'running' | 'waiting';
  readonly dirty: boolean;
  readonly abandoned: boolean;
}

const IDLE: Known = { state: 'idle', dirty: false, abandoned: false };
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
      const ids = new Map<string, Known>();
      const workers: WorkerCounts[] = [];
      return steps.pipe(
        map((step) => {
          if (step.worker >= 0) {
            const before = ids.get(step.id) ?? IDLE;
            const after = follow(before, step);
            if (after.state === 'idle' && !after.abandoned) ids.delete(step.id);
            else ids.set(step.id, after);
            count(workers, step.worker, before, after);
          }
          return total(workers);
        }),
      );
    });
}

function follow(known: Known, step: Step): Known {
  switch (step.kind) {
    case 'enqueued':
      return { ...known, state: 'ready', dirty: false };
    case 'merged':
      return { ...known, dirty: known.state === 'running' };
    case 'started':
      return { ...known, state: 'running', dirty: false };
    case 'requeued':
      return { ...known, state: 'waiting', dirty: false };
    case 'succeeded':
      return { ...known, state: 'idle', dirty: false };
    case 'dropped':
      // Dropped while dirty: it waits out its embargo and starts afresh.
      return { ...known, state: known.dirty && step.reason !== 'stopped' ? 'waiting' : 'idle', dirty: false };
    case 'abandoned':
      return { ...known, abandoned: true };
    case 'released':
      return { ...known, abandoned: false };
    case 'rejected':
    case 'paused':
    case 'resumed':
      return known;
  }
}

function count(workers: WorkerCounts[], worker: number, before: Known, after: Known): void {
  let at = workers.findIndex((counts) => counts.worker >= worker);
  if (at < 0) at = workers.length;
  if (workers[at]?.worker !== worker) workers.splice(at, 0, { worker, ...NOTHING });
  workers[at] = moved(moved(workers[at] as WorkerCounts, before, -1), after, 1);
}

function moved(counts: WorkerCounts, { state, abandoned }: Known, by: 1 | -1): WorkerCounts {
  const key = abandoned ? 'abandoned' : state;
  return key === 'idle' ? counts : { ...counts, [key]: counts[key] + by };
}

function total(workers: readonly WorkerCounts[]): Snapshot {
  const sum = (key: keyof Counts): number => workers.reduce((all, counts) => all + counts[key], 0);
  return { ready: sum('ready'), running: sum('running'), waiting: sum('waiting'), abandoned: sum('abandoned'), workers: [...workers] };
}
