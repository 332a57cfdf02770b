import { asyncScheduler, EMPTY, NEVER, type ObservableInput, type SchedulerLike } from 'rxjs';
import { type Backoff, exponential } from './backoff.js';
import type { Command } from './command.js';
import { defaultHasher } from './default-hasher.js';
import {
  check,
  checkDelay,
  checkDuration,
  checkFunction,
  checkObject,
  checkObservableInput,
  checkScheduler,
  checkSize,
  isDelay,
} from './check.js';
import { fifo } from './orders/fifo.js';
import type { ReadyQueue } from './orders/ready-queue.js';

/** How {@link reconcile} behaves. Everything is optional, `undefined` means the default, and sizes are per worker. */
export interface ReconcileConfig {
  /**
   * How often a failing id is retried after its first run: 0 = never, Infinity = for ever. Default 10: with the default
   * backoff about three minutes of waiting, after which a broken id waits for its next event (or resync) instead.
   */
  readonly maxItemRetries?: number | undefined;
  /** How many ids may be ready because of events; beyond it events are `rejected: full`. Default 2000: a bounded backlog. */
  readonly workerQueueSize?: number | undefined;
  /** How many ids of one worker run at once. Default 1: one run at a time until you know that more is safe; Infinity means no limit. */
  readonly workerConcurrency?: number | undefined;
  /** How many ids of the whole loop run at once; where it is reached, workers take turns. Default Infinity: no limit but that of each worker. */
  readonly concurrency?: number | undefined;
  /**
   * Routes an id to a lane: an integer below `count`; one below 0 rejects the event as `unrouted`. It must be a function of
   * the id, or one id runs twice at once. Default {@link defaultHasher}.
   */
  readonly workerHasher?: ((id: string, count: number) => number) | undefined;
  /** How many lanes run side by side. Default 1: one run at a time until you know that more is safe. */
  readonly workerCount?: number | undefined;
  /** The name of a lane, by its number, for telemetry; lanes may share one. Default `'default'`. (Go: `WorkerNameHelper`.) */
  readonly workerName?: ((worker: number) => string) | undefined;
  /** The grid, in ms, to which delays are rounded up, and the least time between a failure and the next run. Default 250. */
  readonly delayResolution?: number | undefined;
  /** How many ids may wait for a retry or a requeue; beyond it they are `dropped: delay_queue_full`. Default 1000. */
  readonly delayQueueSize?: number | undefined;
  /** How long one run may take, in ms; 0 and Infinity mean no limit. Default 10_000: a hung call must not stop its lane. */
  readonly maxReconcileTime?: number | undefined;
  /** The delay of a retry whose error has none of its own. Default {@link exponential} from `delayResolution` to 60_000. */
  readonly backoff?: Backoff | undefined;
  /**
   * Makes the queue from which a worker takes what starts next, one for each worker. Default {@link fifo}; {@link byPriority} and
   * {@link fair} are others.
   */
  readonly order?: (() => ReadyQueue) | undefined;
  /**
   * How long, in ms, an id rests after a run that ended well before it runs again, whatever events come meanwhile; finite and >= 0.
   * Default 0: events that come close together are merged anyway.
   */
  readonly cooldown?: number | undefined;
  /**
   * Pauses, resumes and discards ids, or pauses and resumes the loop; subscribed to before the source. Ids that are paused when the source
   * completes are waited for until it completes too. Default: none.
   */
  readonly commands?: ObservableInput<Command> | undefined;
  /** When it emits the loop stops: nothing new starts, what runs may finish within `shutdownGrace`. Default: never. */
  readonly stop?: ObservableInput<unknown> | undefined;
  /** When it emits all work is cut off and dropped, and the loop goes on empty: the end of a term. Default: never. */
  readonly reset?: ObservableInput<unknown> | undefined;
  /** How long, in ms, running ids may take to finish once the loop stops; Infinity means no limit. Default 30_000. */
  readonly shutdownGrace?: number | undefined;
  /** The only source of time. Default `asyncScheduler`; give a `TestScheduler` for virtual time. */
  readonly scheduler?: SchedulerLike | undefined;
}

/** A {@link ReconcileConfig} that is checked and whole. */
export type ReconcileSettings = { readonly [K in keyof ReconcileConfig]-?: Exclude<ReconcileConfig[K], undefined> };

/**
 * Checks `config` and fills in the defaults.
 *
 * @throws TypeError that names the field, what was expected and what came
 */
export function reconcileSettings(config: ReconcileConfig = {}): ReconcileSettings {
  checkObject('config', config);
  const {
    maxItemRetries = 10,
    workerQueueSize = 2000,
    workerHasher = defaultHasher,
    workerCount = 1,
    workerConcurrency = 1,
    concurrency = Infinity,
    workerName = () => 'default',
    delayResolution = 250,
    delayQueueSize = 1000,
    maxReconcileTime = 10_000,
    order = fifo,
    cooldown = 0,
    commands = EMPTY,
    stop = NEVER,
    reset = NEVER,
    shutdownGrace = 30_000,
    scheduler = asyncScheduler,
  } = config;
  checkSize('maxItemRetries', maxItemRetries, 0);
  checkSize('workerQueueSize', workerQueueSize, 1);
  checkFunction('workerHasher', workerHasher);
  check('workerCount', workerCount, 'an integer >= 1', Number.isInteger(workerCount) && workerCount >= 1);
  checkSize('workerConcurrency', workerConcurrency, 1);
  checkSize('concurrency', concurrency, 1);
  checkFunction('workerName', workerName);
  check('delayResolution', delayResolution, 'a finite number > 0', isDelay(delayResolution) && delayResolution > 0);
  checkSize('delayQueueSize', delayQueueSize, 0);
  checkDuration('maxReconcileTime', maxReconcileTime);
  checkDuration('shutdownGrace', shutdownGrace);
  checkFunction('order', order);
  checkDelay('cooldown', cooldown);
  checkObservableInput('commands', commands);
  checkObservableInput('stop', stop);
  checkObservableInput('reset', reset);
  checkScheduler('scheduler', scheduler);
  const { backoff = exponential({ initial: delayResolution, max: 60_000 }) } = config;
  checkFunction('backoff', backoff);
  return {
    maxItemRetries,
    workerQueueSize,
    workerHasher,
    workerCount,
    workerConcurrency,
    concurrency,
    workerName,
    delayResolution,
    delayQueueSize,
    maxReconcileTime,
    backoff,
    order,
    cooldown,
    commands,
    stop,
    reset,
    shutdownGrace,
    scheduler,
  };
}
