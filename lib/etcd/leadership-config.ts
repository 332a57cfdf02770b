import { A_WEEK } from '../a-week.js';
import { check, checkInterval, checkObject } from '../../operators/check.js';
import { type EtcdConfig, etcdSettings } from './etcd-config.js';

/** How `leadership` behaves. */
export interface LeadershipConfig extends EtcdConfig {
  /** What it is about. Whoever uses the same name and prefix in the same cluster competes for the same. */
  readonly name: string;
  /** What the keys begin with, for roles that may write only some. Default `'kreconciler/'`. */
  readonly prefix?: string | undefined;
  /**
   * How long etcd waits for a sign of life, in ms, >= 1_000; it counts in whole seconds, and by default in no less than two. It is
   * given a sign every quarter of that, and three quarters after the last one that was answered had been sent, all is given
   * up here. Default 8_000: who dies is followed within 9 s, and an etcd that is away for 4 s goes unnoticed.
   */
  readonly ttl?: number | undefined;
  /** How often it looks who has what, in ms, > 0, spread by a fifth: a watch says so sooner, but may be silent. Default 2_000. */
  readonly retry?: number | undefined;
  /** How long one endpoint may take to answer, in ms, > 0. Default 2_000, or a quarter of `ttl` if that is less. */
  readonly deadline?: number | undefined;
}

/** A {@link LeadershipConfig} that is checked and whole. */
export type LeadershipSettings = ReturnType<typeof leadershipSettings>;

/** @throws TypeError that names the field, what was expected and what came */
export function leadershipSettings(config: LeadershipConfig) {
  checkObject('config', config);
  const { name, prefix = 'kreconciler/', ttl = 8_000, retry = 2_000 } = config;
  checkInterval('ttl', ttl, A_WEEK);
  // etcd counts in seconds, and so may whoever writes `ttl: 8`.
  check('ttl', ttl, 'at least 1000 ms', ttl >= 1_000);
  const settings = etcdSettings({ ...config, deadline: config.deadline ?? Math.min(2_000, ttl / 4) });
  check('name', name, 'a non-empty string', typeof name === 'string' && name !== '');
  check('prefix', prefix, 'a string', typeof prefix === 'string');
  checkInterval('retry', retry, A_WEEK);
  return { ...settings, name, prefix, ttl, retry };
}

/** `name` as a part of a key: what begins with it and a slash is its own. */
export function asKey(name: string): string {
  return name.replace(/[%/]/g, encodeURIComponent);
}
