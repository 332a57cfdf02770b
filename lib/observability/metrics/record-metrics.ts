import { createNoopMeter, type Meter, metrics } from '@opentelemetry/api';
import { asyncScheduler, defer, finalize, type MonoTypeOperatorFunction, NEVER, type ObservableInput, type SchedulerLike } from 'rxjs';
import { check, checkFunction, checkName, checkObservableInput, checkScheduler } from '../../../operators/check.js';
import type { Step } from '../../../operators/types.js';
import { fromInput } from '../../from-input.js';
import { reportGauges } from './gauges.js';
import { LoopMetrics } from './loop-metrics.js';
import type { ShardChange } from './shard-metrics.js';
import type { StreamChange } from './stream-metrics.js';
import { tapSafely } from '../tap-safely.js';
import { SCOPE } from '../scope.js';

/** What {@link recordMetrics} measures with, and what it has to know of the loop. */
export interface RecordMetricsConfig {
  /** Default: that of the globally registered provider, looked up at each subscription, so that it may be registered late. */
  readonly meter?: Meter | undefined;
  /**
   * Becomes the attribute `controller`. Default: none. Two loops on one meter need two names, or their gauges overwrite
   * each other.
   */
  readonly name?: string | undefined;
  /** The attribute `workerName` of a lane, by its number; the loop's own `workerName`. Default `'default'`, as there. */
  readonly workerName?: ((worker: number) => string) | undefined;
  /** How many ids of a worker may run at once, for the gauge of places wanted; the loop's own. Default 1, as there. */
  readonly workerConcurrency?: number | undefined;
  /** The same of the whole loop. Default Infinity, as there. */
  readonly concurrency?: number | undefined;
  /** Feeds the gauge `kreconciler_leader`: 0 until it says true. Default: none, and no such gauge. */
  readonly leading?: ObservableInput<boolean> | undefined;
  /**
   * Feeds `kreconciler_stream_up`, `kreconciler_stream_start_count` and `kreconciler_stream_silence_millis`: when streams are
   * subscribed to, and when they end. Default: none, and no such metrics.
   */
  readonly streams?: ObservableInput<StreamChange> | undefined;
  /**
   * Feeds `kreconciler_shards_owned`, `kreconciler_shards_unowned`, `kreconciler_shard_move_count` and
   * `kreconciler_shard_hand_over_millis`. Default: none, and no such metrics.
   */
  readonly shards?: ObservableInput<ShardChange> | undefined;
  /** The loop's own clock, for the age of the oldest id that has not converged. Default `asyncScheduler`. */
  readonly scheduler?: SchedulerLike | undefined;
}

/**
 * Measures a loop by its steps, which it passes on unchanged: counts and latencies of queueing, handling and requeueing, by
 * lane and outcome; ids that are ready, running, waiting, abandoned; and how long ids take to converge. The README has the
 * table. With no SDK registered it costs nothing.
 *
 * Counters are brought up to date at each collection and at the end. The gauges are there from the subscription to its end.
 *
 * @throws TypeError if a field is unusable; the message names it
 * @example
 * ids$.pipe(reconcile(reconciler, config), recordMetrics({ meter: metrics.getMeter('dns'), name: 'zones' })).subscribe();
 */
export function recordMetrics(config: RecordMetricsConfig = {}): MonoTypeOperatorFunction<Step> {
  const {
    name,
    workerName = () => 'default',
    workerConcurrency = 1,
    concurrency = Infinity,
    leading,
    streams,
    shards,
    scheduler = asyncScheduler,
    meter: given,
  } = config;
  check('meter', given, 'a Meter', given === undefined || typeof (given as Partial<Meter> | null)?.createCounter === 'function');
  checkName('name', name);
  checkFunction('workerName', workerName);
  for (const [field, value] of Object.entries({ workerConcurrency, concurrency })) check(field, value, 'a number >= 1', value >= 1);
  if (leading !== undefined) checkObservableInput('leading', leading);
  if (streams !== undefined) checkObservableInput('streams', streams);
  if (shards !== undefined) checkObservableInput('shards', shards);
  checkScheduler('scheduler', scheduler);
  return (steps) =>
    defer(() => {
      const meter = given ?? metrics.getMeter(SCOPE);
      if (meter === createNoopMeter()) return steps;
      const loop = new LoopMetrics(meter, name === undefined ? {} : { controller: name }, workerName, { workerConcurrency, concurrency });
      if (leading !== undefined) loop.leading = false;
      const terms = fromInput(leading ?? NEVER).subscribe({
        next: (leads) => {
          loop.leading = leads;
        },
        // Whoever acts on it has to report it, too.
        error: () => {
          loop.leading = false;
        },
      });
      const changes = fromInput(streams ?? NEVER).subscribe({
        next: (change) => {
          loop.changeStream(change, scheduler.now());
        },
        // What they were is what is known of them.
        error: () => undefined,
      });
      const moves = fromInput(shards ?? NEVER).subscribe({
        next: (change) => {
          loop.changeShards(change, scheduler.now());
        },
        error: () => undefined,
      });
      const removeGauges = reportGauges(meter, loop.gauges, (observe) => {
        loop.flush();
        loop.report(observe, scheduler.now());
      });
      return steps.pipe(
        tapSafely((step) => {
          loop.follow(step);
        }),
        finalize(() => {
          terms.unsubscribe();
          changes.unsubscribe();
          moves.unsubscribe();
          removeGauges();
          loop.end(scheduler.now());
        }),
      );
    });
}
