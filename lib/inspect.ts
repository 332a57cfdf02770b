import type { Counts, Snapshot, WorkerCounts } from '../operators/snapshots.js';
import type { Entry } from '../operators/entry.js';
import { History, type HistoryStep } from '../operators/history.js';
import type { Reason } from '../operators/types.js';
import type { Workqueue } from '../operators/workqueue.js';
import type { ErrorDescription } from './describe-error.js';
import { Notes, type Pause } from './notes.js';
import { Rates } from './rates.js';
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
  /** The highest priority of the events that asked for it, unless that is 0. */
  readonly priority?: number;
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
  /**
   * Its last steps, oldest first, each with the name of the event stream that it came from instead of its trigger; see
   * `config.history`. Read when it is asked for, so it costs nothing before, and it is not enumerable: a copy, JSON or `console.log` of
   * the id does not show it.
   */
  readonly history: readonly HistoryStep[];
}

/** An id that is idle, but paused, or not forgotten yet. */
export interface IdleId {
  readonly id: string;
  readonly state: 'idle';
  readonly paused?: Pause;
  /** As that of an {@link InspectedId}. */
  readonly history: readonly HistoryStep[];
}

/**
 * What an id waits for: its turn, behind others of its worker (`queue`); a place in the loop, all of which are taken (`place`); that a run of
 * its key ends, which is at its limit (`key`); that it, or the whole loop, is resumed (`pause`); its wake-up (`retry` after a failure,
 * `requeue` as it asked for, `cooldown` after a run that ended well); or a promise that has outlived its run (`promise`).
 */
export type HeldBy = 'queue' | 'place' | 'key' | 'pause' | 'retry' | 'requeue' | 'cooldown' | 'promise';

/** A {@link Snapshot} with the ids in it. */
export interface Inspection extends Snapshot {
  readonly leading: boolean;
  /** The number of the term, if the leader source gives it one. */
  readonly term?: number;
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

/** An {@link Inspection} without ids: it costs the same however many there are. */
export interface InspectionOfCounts extends Omit<Inspection, 'ids' | 'pausedIds'> {
  /** How many ids are paused themselves. */
  readonly pausedIds: number;
}

/** What there is to be looked at in a loop. */
export class Inspected {
  readonly queues: Workqueue[] = [];
  readonly notes = new Notes((step) => {
    // The only steps of an id that its workqueue does not make.
    this.history?.note(this.entryOf(step.id), step);
  });
  readonly history: History | undefined;
  readonly rates = new Rates();

  /**
   * @param length - how many steps of each id are remembered
   * @param limits - of the loop
   */
  constructor(
    length: number,
    readonly limits: { readonly workerConcurrency: number; readonly concurrency: number },
  ) {
    this.history = length > 0 ? new History(length) : undefined;
  }

  entryOf(id: string): Entry | undefined {
    for (const queue of this.queues) {
      const entry = queue.entries.get(id);
      if (entry !== undefined) return entry;
    }
    return undefined;
  }
}

/** Counts the ids of a loop. */
export function inspectCounts(
  term: { readonly term: number | undefined } | undefined,
  { queues, notes }: Inspected,
  completed: readonly string[],
  shards?: OwnedShards,
): Omit<Inspection, 'ids' | 'pausedIds'> {
  const workers = queues.map(countsOf).sort((a, b) => a.worker - b.worker);
  const sum = (key: keyof Counts): number => workers.reduce((all, counts) => all + counts[key], 0);
  return {
    leading: term !== undefined,
    ...(term?.term !== undefined && shards === undefined && { term: term.term }),
    ready: sum('ready'),
    running: sum('running'),
    waiting: sum('waiting'),
    abandoned: sum('abandoned'),
    workers,
    ...(notes.loopPause !== undefined && { paused: notes.loopPause }),
    ...(shards !== undefined && { shards: { count: shards.count, owned: shards.held } }),
    ...(completed.length > 0 && { completed }),
  };
}

/** All ids that are not idle. */
export function inspectAll(inspected: Inspected): readonly InspectedId[] {
  return inspected.queues.flatMap((queue) => queue.entries.values().map((entry) => inspectEntry(entry, queue, inspected)));
}

/** One id; nothing if it is idle, not paused, and forgotten. */
export function inspectId(id: string, inspected: Inspected): InspectedId | IdleId | undefined {
  const { queues, notes, history } = inspected;
  for (const queue of queues) {
    const entry = queue.entries.get(id);
    if (entry !== undefined) return inspectEntry(entry, queue, inspected);
  }
  const paused = notes.pauses.get(id);
  const steps = history?.of(id, undefined, -1) ?? [];
  if (paused === undefined && steps.length === 0) return undefined;
  return withHistory({ id, state: 'idle' as const, ...(paused !== undefined && { paused }) }, () => steps);
}

function countsOf({ worker, size, ready, running, abandoned }: Workqueue): WorkerCounts {
  return { worker, ready, running, waiting: size - ready - running - abandoned, abandoned };
}

function inspectEntry(entry: Readonly<Entry>, queue: Workqueue, inspected: Inspected): InspectedId {
  const { notes, history } = inspected;
  const { worker } = queue;
  const { id, state, attempt, reason, since, tick } = entry;
  const paused = notes.pauses.get(id);
  const heldBy = heldByOf(entry, paused !== undefined || notes.loopPause !== undefined, queue, inspected);
  const lastError = notes.lastErrorOf(id);
  const row = {
    id,
    worker,
    state,
    attempt,
    failures: entry.hold?.failures ?? 0,
    reason,
    streams: [...new Set([...entry.streams, ...(entry.dirty?.streams ?? [])])],
    ...(entry.priority !== 0 && { priority: entry.priority }),
    ...((state === 'ready' || state === 'running') && { since }),
    ...(tick !== undefined && { until: tick.due }),
    ...(heldBy !== undefined && { heldBy }),
    ...(paused !== undefined && { paused }),
    ...(lastError !== undefined && { lastError }),
  };
  return withHistory(row, () => history?.of(id, entry, worker) ?? []);
}

/** Its worker could run one more, but not the loop. */
function isWithoutPlace({ running }: Workqueue, { queues, limits: { workerConcurrency, concurrency } }: Inspected): boolean {
  if (concurrency === Infinity || running >= workerConcurrency) return false;
  return queues.reduce((sum, queue) => sum + queue.running, 0) >= concurrency;
}

function withHistory<T extends object>(row: T, read: () => readonly HistoryStep[]): T & { readonly history: readonly HistoryStep[] } {
  return Object.defineProperty(row, 'history', { get: read, enumerable: false }) as T & { readonly history: readonly HistoryStep[] };
}

function heldByOf(entry: Readonly<Entry>, isPaused: boolean, queue: Workqueue, inspected: Inspected): HeldBy | undefined {
  const { state, hasFailed, counts } = entry;
  if (state === 'running') return undefined;
  if (state === 'abandoned') return 'promise';
  if (isPaused) return 'pause';
  if (state === 'ready') return queue.holds(entry) ? 'key' : isWithoutPlace(queue, inspected) ? 'place' : 'queue';
  if (hasFailed) return 'retry';
  return counts === 'rest' ? 'cooldown' : 'requeue';
}
