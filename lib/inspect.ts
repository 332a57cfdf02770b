import type { Counts, Snapshot, WorkerCounts } from '../operators/snapshots.js';
import type { Reason } from '../operators/types.js';
import type { Workqueue } from '../operators/workqueue.js';
import type { ErrorDescription } from './describe-error.js';
import type { Notes, Pause } from './notes.js';
import type { OwnedShards } from './shards/owned-shards.js';

/** One id that is not idle. */
export interface InspectedId {
  readonly id: string;
  readonly worker: number;
  readonly state: keyof Counts;
  /** The attempt it is in or waits for; 1 = first run. */
  readonly attempt: number;
  /** How often in a row it has failed. */
  readonly failures: number;
  /** Why it runs, or is to run. */
  readonly reason: Reason;
  /** The event streams that asked for it. */
  readonly streams: readonly string[];
  /** Since when it is ready or running, in ms on the scheduler's clock. */
  readonly since?: number;
  /** When it is woken, in ms on the scheduler's clock, if it waits for that. */
  readonly until?: number;
  /** Why it does not run, unless it does. */
  readonly heldBy?: HeldBy;
  /** Whether the id itself is paused. */
  readonly paused?: Pause;
  /** The error that its last run failed with, and when, in ms on the scheduler's clock. */
  readonly lastError?: ErrorDescription & { readonly at: number };
}

/**
 * What an id waits for: its turn (`queue`); that it, or the whole loop, is resumed (`pause`); its wake-up (`retry` after a failure,
 * `requeue` as it asked for, `cooldown` after a run that ended well); or a promise that has outlived its run (`promise`).
 */
export type HeldBy = 'queue' | 'pause' | 'retry' | 'requeue' | 'cooldown' | 'promise';

/** A {@link Snapshot} with the ids in it. */
export interface Inspection extends Snapshot {
  readonly leading: boolean;
  readonly ids: readonly InspectedId[];
  /** Whether the whole loop is paused. */
  readonly paused?: Pause;
  /** The ids that are paused themselves, if there are any; most of them may be idle. */
  readonly pausedIds?: Readonly<Record<string, Pause>>;
  /** With `config.shards`: how many there are, and those that this process owns, each in its term. `leading` says whether it owns any. */
  readonly shards?: { readonly count: number; readonly owned: readonly { readonly shard: number; readonly term: number }[] };
  /** The event streams that have completed in this term while others go on, if there are any. */
  readonly completed?: readonly string[];
}

/** Looks at the workqueues of a loop, with what its steps have said of it. */
export function inspect(
  leading: boolean,
  queues: readonly Workqueue[],
  notes: Notes,
  completed: readonly string[],
  shards?: OwnedShards,
): Inspection {
  const ids = queues.flatMap((queue) => Array.from(queue.entries, (entry) => inspected(entry, queue.worker, notes)));
  const workers = queues
    .map(({ worker }): WorkerCounts => ({ worker, ...counts(ids.filter((seen) => seen.worker === worker)) }))
    .sort((a, b) => a.worker - b.worker);
  return {
    leading,
    ...counts(ids),
    workers,
    ids,
    ...(notes.loopPause !== undefined && { paused: notes.loopPause }),
    ...(notes.pauses.size > 0 && { pausedIds: Object.fromEntries(notes.pauses) }),
    ...(shards !== undefined && { shards: { count: shards.count, owned: shards.held } }),
    ...(completed.length > 0 && { completed }),
  };
}

type InspectedEntry = Workqueue['entries'] extends Iterable<infer E> ? E : never;

function inspected(entry: InspectedEntry, worker: number, notes: Notes): InspectedId {
  const { id, state, attempt, reason, since, tick } = entry;
  const paused = notes.pauses.get(id);
  const heldBy = heldByOf(entry, paused !== undefined || notes.loopPause !== undefined);
  const lastError = notes.lastErrorOf(id);
  return {
    id,
    worker,
    state,
    attempt,
    failures: entry.hold?.failures ?? 0,
    reason,
    streams: [...new Set([...entry.streams, ...(entry.dirty?.streams ?? [])])],
    ...((state === 'ready' || state === 'running') && { since }),
    ...(tick !== undefined && { until: tick.due }),
    ...(heldBy !== undefined && { heldBy }),
    ...(paused !== undefined && { paused }),
    ...(lastError !== undefined && { lastError }),
  };
}

function heldByOf({ state, hasFailed, counts }: InspectedEntry, isPaused: boolean): HeldBy | undefined {
  if (state === 'running') return undefined;
  if (state === 'abandoned') return 'promise';
  if (isPaused) return 'pause';
  if (state === 'ready') return 'queue';
  if (hasFailed) return 'retry';
  return counts === 'rest' ? 'cooldown' : 'requeue';
}

function counts(ids: readonly InspectedId[]): Counts {
  const all = { ready: 0, running: 0, waiting: 0, abandoned: 0 };
  for (const { state } of ids) all[state]++;
  return all;
}
