import { checkInterval } from '../../operators/check.js';
import { checkCount } from '../shards/shard-of.js';
import { type LeadershipConfig, leadershipSettings } from './leadership-config.js';

/** Each look reads all of them. */
const MOST = 10_000;

/** How `shards` behaves. */
export interface ShardsConfig extends LeadershipConfig {
  /**
   * How many shards there are, an integer from 1 to 10_000. Default 64: enough for a dozen replicas to be even, and few enough
   * to be looked at every second. The same for all members: it can be changed only when there is none.
   */
  readonly count?: number | undefined;
  /** How long a newcomer must have been there before others let go of shards for it, in ms, > 0. Default 5_000. */
  readonly settle?: number | undefined;
}

/** A {@link ShardsConfig} that is checked and whole. */
export type ShardsSettings = ReturnType<typeof shardsSettings>;

/** @throws TypeError that names the field, what was expected and what came */
export function shardsSettings(config: ShardsConfig) {
  const settings = leadershipSettings(config);
  const { count = 64, settle = 5_000 } = config;
  checkCount(count, MOST);
  checkInterval('settle', settle);
  return { ...settings, count, settle };
}
