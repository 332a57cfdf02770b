import { asyncScheduler, type SchedulerLike } from 'rxjs';
import { type Backoff, exponential } from '../../operators/backoff.js';
import { callable, checkScheduler } from '../../operators/config.js';
import { expected, expectedObject } from '../../operators/expected.js';
import { checkInterval } from '../interval.js';
import { checkObservability, defaultObservability, type Observability } from '../observability/observability.js';
import { endpoints } from './endpoints.js';
import type { FetchLike } from './fetch-like.js';

/** How `keys` behaves. */
export interface KeysConfig {
  /** Where etcd's client endpoints are: `'http://127.0.0.1:2379'`, or several, which are tried in turn. */
  readonly url: string | readonly string[];
  /** What the keys begin with; the id is what comes after it. `''` means all keys there are. */
  readonly prefix: string;
  /** Makes the requests: one of your own may bring certificates or a token. Default: the global one. */
  readonly fetch?: FetchLike | undefined;
  /**
   * How often the watch is made anew, from where it was, in ms, > 0. A watch that has gone silent looks like one that has
   * nothing to say; so an event is late by that much at most. Default 10_000.
   */
  readonly heartbeat?: number | undefined;
  /** How long etcd may take to answer, in ms, > 0. Default 5_000. */
  readonly deadline?: number | undefined;
  /** How long to wait before listing again after a failure. Default {@link exponential} from 250 to 30_000 ms. */
  readonly backoff?: Backoff | undefined;
  /** Where to log. Default {@link defaultObservability}. */
  readonly observability?: Observability | undefined;
  /** The only source of time. Default `asyncScheduler`. */
  readonly scheduler?: SchedulerLike | undefined;
}

/** A {@link KeysConfig} that is checked and whole. */
export type KeysSettings = ReturnType<typeof keysSettings>;

/** @throws TypeError that names the field, what was expected and what came */
export function keysSettings(config: KeysConfig) {
  expectedObject('config', config);
  const {
    url,
    prefix,
    fetch = globalThis.fetch,
    heartbeat = 10_000,
    deadline = 5_000,
    backoff = exponential({ initial: 250, max: 30_000 }),
    observability = defaultObservability(),
    scheduler = asyncScheduler,
  } = config;
  const urls = endpoints(url);
  expected('prefix', prefix, 'a string', typeof prefix === 'string');
  callable('fetch', fetch);
  checkInterval('heartbeat', heartbeat);
  checkInterval('deadline', deadline);
  callable('backoff', backoff);
  checkObservability('observability', observability);
  checkScheduler('scheduler', scheduler);
  return { urls, prefix, fetch, heartbeat, deadline, backoff, scheduler, logger: observability.logger };
}
