import { A_WEEK } from '../a-week.js';
import { checkInterval } from '../../operators/check.js';
import { checkCount } from '../shards/shard-of.js';
import { type LeadershipConfig, leadershipSettings } from './leadership-config.js';

/** Each member looks at all of them every second. */
const MOST = 10_000;

/** How `shards` behaves. */
export interface ShardsConfig extends Omit<LeadershipConfig, 'name' | 'table' | 'heartbeat' | 'retry'> {
  /** What is shared out. Whoever uses the same name in the same database shares the same shards. At most 1_000 bytes. */
  readonly name: string;
  /**
   * How many shards there are, an integer from 1 to 10_000. Default 64: enough for a dozen replicas to be even, and few enough to
   * be looked at every second. The same for all members: it can be changed only when there is none. Each shard takes a place in
   * the lock table of PostgreSQL, which has 6,400 by default.
   */
  readonly count?: number | undefined;
  /** The table of the terms, made if it is not there. Default `'kreconciler_shards'`. */
  readonly table?: string | undefined;
  /** How long a session may be without a sign of life from PostgreSQL, in ms, > 0. Default 1_000. */
  readonly heartbeat?: number | undefined;
  /**
   * How often each member looks at who is there and what is free, in ms, > 0, spread by a fifth either way. It is its heartbeat,
   * too. Default 1_000: one query a second that takes about a millisecond.
   */
  readonly retry?: number | undefined;
  /**
   * How long a newcomer must have been there before others let go of shards for it, in ms, > 0. Default 5_000: one that starts and
   * dies, again and again, moves nothing.
   */
  readonly settle?: number | undefined;
}

/** A {@link ShardsConfig} that is checked and whole. */
export type ShardsSettings = ReturnType<typeof shardsSettings>;

/** @throws TypeError that names the field, what was expected and what came */
export function shardsSettings(config: ShardsConfig) {
  // Not with a default parameter: what is no object at all is refused by name first.
  const settings = leadershipSettings(config);
  const { count = 64, table = 'kreconciler_shards', settle = 5_000 } = config;
  checkCount(count, MOST);
  checkInterval('settle', settle, A_WEEK);
  return { ...settings, count, table, settle };
}
