import { exponential } from '../../operators/backoff.js';
import { check, checkInterval, checkObject } from '../../operators/check.js';
import { type EtcdConfig, etcdSettings } from './etcd-config.js';

/** How `keys` behaves. */
export interface KeysConfig extends EtcdConfig {
  /** What the keys begin with; the id is what comes after it. `''` means all keys there are. */
  readonly prefix: string;
  /**
   * How often the watch is made anew, from where it was, in ms, > 0: one that has gone silent looks like one that has nothing
   * to say. Default 10_000: an event is late by that much, and `deadline`, at most.
   */
  readonly heartbeat?: number | undefined;
  /** How long one endpoint may take to answer, in ms, > 0. Default 5_000. */
  readonly deadline?: number | undefined;
}

/** @throws TypeError that names the field, what was expected and what came */
export function keysSettings(config: KeysConfig) {
  checkObject('config', config);
  const { prefix, heartbeat = 10_000, deadline = 5_000, backoff = exponential({ initial: 250, max: 30_000 }) } = config;
  const settings = etcdSettings({ ...config, deadline, backoff });
  check('prefix', prefix, 'a string', typeof prefix === 'string');
  checkInterval('heartbeat', heartbeat);
  return { ...settings, prefix, heartbeat };
}
