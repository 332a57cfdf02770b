import type { ObservableInput } from 'rxjs';
import { type ReconcileConfig, type ReconcileSettings, reconcileSettings } from '../operators/config.js';
import { check, checkName, checkObject, checkObservableInput } from '../operators/check.js';
import { defaultHasher } from '../operators/default-hasher.js';
import { checkCount } from './shards/shard-of.js';
import type { Shards } from './shards/shards.js';
import { checkObservability, defaultObservability, type Observability } from './observability/observability.js';

/** A term of leadership. Its number grows from term to term, so that a write can refuse an old leader. */
export interface Term {
  readonly term: number;
}

/** How a Controller behaves: {@link ReconcileConfig}, and what surrounds the loop. */
export interface Config extends ReconcileConfig {
  /** Distinguishes loops in telemetry, as the attribute `controller`. Default: none. */
  readonly name?: string | undefined;
  /** Whether it must lead to work. Default true, so that a second replica is harmless; false: it leads as soon as it runs, and asks no `leader`. */
  readonly leaderElectionEnabled: boolean;
  /**
   * Says whether this process leads: a lease, a lock. Subscribed to while `run` runs, and let go only after all work has
   * stopped. One that errors ends `run`; one that completes leaves its last value standing.
   * Default: `becomeLeader()` and `stepDown()` say it.
   */
  readonly leader?: ObservableInput<boolean | Term> | undefined;
  /**
   * Spreads the ids over many processes, each of which runs some shards of them: `shards(...)` of `kreconciler/postgres` or
   * `kreconciler/etcd`. A worker is a shard then ({@link shardOf}), so it stands instead of `leader`, `workerCount`, `workerHasher`
   * and a warm `standby`; `workerConcurrency` is per shard, `concurrency` for the whole process. Subscribed to while `run` runs.
   * Default: none, this process runs all ids.
   */
  readonly shards?: Shards | undefined;
  /**
   * What is done before this process leads. `'cold'`: nothing is listed or subscribed to. `'warm'`: the streams are subscribed to
   * at once, and anew after each loss; the ids that they say are remembered, merged, at most `workerCount * workerQueueSize` a
   * stream, and nothing runs; with the lead the first run starts at once instead of after a list. Beyond that number a
   * stream is subscribed to anew with the lead. Streams that take messages away from others are to stand by cold.
   * Default `'cold'`: a replica that only waits asks nothing of anybody.
   */
  readonly standby?: 'cold' | 'warm' | undefined;
  /**
   * How many steps are remembered of each id that is not idle, and of the last 1,000 that were, for `inspect()`; an integer >= 0.
   * Default 20: some six attempts, at a hundred bytes a step; 0: none, which costs nothing.
   */
  readonly history: number;
  /** Default {@link defaultObservability}. */
  readonly observability: Observability;
}

/** A {@link Config} that is checked and whole. */
export type Settings = ReconcileSettings & Config;

/**
 * What a Controller does unless told otherwise. A part of a configuration will do, so it is seldom needed: what is spread is given, so that
 * `backoff` does not follow another `delayResolution`, and `shards` are refused beside `workerCount`.
 *
 * @example
 * const config = { ...defaultConfig(), workerCount: 8 };
 */
export function defaultConfig(): Config {
  return settings({});
}

/** @throws TypeError that names the field, what was expected and what came */
export function settings(config: Partial<Config>): Settings {
  checkObject('config', config);
  const { shards } = config;
  if (shards !== undefined) checkShards(shards, config);
  const reconcile = reconcileSettings(shards === undefined ? config : { ...config, workerCount: shards.count });
  const { name, leaderElectionEnabled = true, leader, standby = 'cold', history = 20, observability = defaultObservability() } = config;
  checkName('name', name);
  check('leaderElectionEnabled', leaderElectionEnabled, 'a boolean', typeof leaderElectionEnabled === 'boolean');
  if (leader !== undefined) checkObservableInput('leader', leader);
  check('standby', standby, "'cold' or 'warm'", standby === 'cold' || (standby as unknown) === 'warm');
  check('history', history, 'an integer >= 0', Number.isInteger(history) && history >= 0);
  checkObservability('observability', observability);
  return { ...reconcile, name, leaderElectionEnabled, leader, shards, standby, history, observability };
}

/** A shard has one owner, and an id one shard: whatever else would say so is refused. */
function checkShards(shards: unknown, { leader, workerCount, workerHasher = defaultHasher, standby = 'cold' }: Partial<Config>): void {
  checkObject('shards', shards);
  const { count, holdings } = shards as Shards;
  checkCount(count, Infinity, 'shards.count');
  checkObservableInput('shards.holdings', holdings);
  const beside = 'nothing beside `shards`';
  check('leader', leader, beside, leader === undefined);
  check('workerCount', workerCount, beside, workerCount === undefined);
  check('workerHasher', workerHasher, beside, workerHasher === defaultHasher);
  check('standby', standby, "'cold' beside `shards`", standby === 'cold');
}
