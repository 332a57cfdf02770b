export { after } from '../operators/after.js';
export { type Backoff, constant, exponential, type ExponentialConfig } from '../operators/backoff.js';
export type { Command } from '../operators/command.js';
export { type ReconcileConfig, type ReconcileSettings, reconcileSettings } from '../operators/config.js';
export { debounceById, type DebounceByIdConfig } from '../operators/debounce-by-id.js';
export { defaultHasher } from '../operators/default-hasher.js';
export { DelayScheduler } from '../operators/delay-scheduler.js';
export { RetryError, TerminalError } from '../operators/errors.js';
export { loop, type LoopParts } from '../operators/loop.js';
export type { HistoryStep } from '../operators/history.js';
export { ofKind } from '../operators/of-kind.js';
export { byPriority, type ByPriorityConfig } from '../operators/orders/by-priority.js';
export { fair, type FairConfig } from '../operators/orders/fair.js';
export { fifo } from '../operators/orders/fifo.js';
export type { ReadyItem, ReadyQueue } from '../operators/orders/ready-queue.js';
export { reconcile } from '../operators/reconcile.js';
export { route } from '../operators/route.js';
export { type Counts, type Snapshot, snapshots, type WorkerCounts } from '../operators/snapshots.js';
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
} from '../operators/types.js';
export { whileLeading } from '../operators/while-leading.js';
export { acknowledge, type AcknowledgeConfig } from './acknowledge.js';
export { type Config, defaultConfig, type Term } from './config.js';
export { consoleLogger } from './observability/logging/console-logger.js';
export { Controller, type ReconcileRequest } from './controller.js';
export type { ControllerContext } from './controller-context.js';
export type { EventStream } from './event-stream.js';
export type { HeldBy, IdleId, InspectedId, Inspection, InspectionOfCounts } from './inspect.js';
export type { InspectedIds, InspectIdsConfig } from './inspect-ids.js';
export type { Pause } from './notes.js';
export { type LogFields, type Logger, type LogLevel, noopLogger } from './observability/logging/logger.js';
export { noopStream } from './noop-stream.js';
export { type InstrumentConfig, instrument, type Instrumented } from './observability/instrument.js';
export { logSnapshotOn } from './observability/logging/log-snapshot-on.js';
export { logSteps } from './observability/logging/log-steps.js';
export { loggerWithContext } from './observability/logging/logger-with-context.js';
export { metered } from './observability/metrics/metered.js';
export { defaultObservability, type Observability, observability } from './observability/observability.js';
export { recordMetrics, type RecordMetricsConfig } from './observability/metrics/record-metrics.js';
export { tracing, type Tracing, type TracingConfig } from './observability/tracing/tracing.js';
export type { ShardChange } from './observability/metrics/shard-metrics.js';
export type { StreamChange } from './observability/metrics/stream-metrics.js';
export { perShard } from './per-shard.js';
export type { RatesBucket } from './rates.js';
export { resync, type ResyncConfig } from './resync.js';
export type { Ownership } from './shards/ownership.js';
export { shardOf } from './shards/shard-of.js';
export type { Holding, Shards } from './shards/shards.js';
