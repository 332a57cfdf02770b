export { after } from './after.js';
export { type Backoff, constant, exponential, type ExponentialConfig } from './backoff.js';
export type { Command } from './command.js';
export { type ReconcileConfig, type ReconcileSettings, reconcileSettings } from './config.js';
export { debounceById, type DebounceByIdConfig } from './debounce-by-id.js';
export { defaultHasher } from './default-hasher.js';
export { DelayScheduler } from './delay-scheduler.js';
export { RetryError, TerminalError } from './errors.js';
export { loop, type LoopParts } from './loop.js';
export { ofKind } from './of-kind.js';
export { byPriority, type ByPriorityConfig } from './orders/by-priority.js';
export { fair, type FairConfig } from './orders/fair.js';
export { fifo } from './orders/fifo.js';
export type { ReadyItem, ReadyQueue } from './orders/ready-queue.js';
export { reconcile } from './reconcile.js';
export { route } from './route.js';
export { type Counts, type Snapshot, snapshots, type WorkerCounts } from './snapshots.js';
export type {
  Abandoned,
  Dropped,
  Enqueued,
  Failure,
  Merged,
  Paused,
  Reason,
  ReconcileContext,
  Reconciler,
  Rejected,
  Released,
  Requeued,
  Result,
  Resumed,
  Started,
  Step,
  StepOf,
  Succeeded,
  Trigger,
} from './types.js';
export { whileLeading } from './while-leading.js';
