import { asyncScheduler, type SchedulerLike } from 'rxjs';
import { type Backoff, exponential } from '../../operators/backoff.js';
import { checkFunction, checkInterval, checkScheduler } from '../../operators/check.js';
import { safeLogger } from '../observability/logging/safe-logger.js';
import { checkObservability, defaultObservability, type Observability } from '../observability/observability.js';
import { endpoints } from './endpoints.js';
import type { FetchLike } from './fetch-like.js';

/** Where etcd is, and how to talk to it. */
export interface EtcdConfig {
  /** Where etcd's clients go: `'http://127.0.0.1:2379'`, or several members, of which one is used until it fails. */
  readonly url: string | readonly string[];
  /** Makes the requests: one of your own may bring certificates or a token. Default: the global one. */
  readonly fetch?: FetchLike | undefined;
  /** How long to wait before beginning anew after a failure. Default {@link exponential} from 250 to 5_000 ms. */
  readonly backoff?: Backoff | undefined;
  /** Where to log. Default {@link defaultObservability}. */
  readonly observability?: Observability | undefined;
  /** The only source of time. Default `asyncScheduler`. */
  readonly scheduler?: SchedulerLike | undefined;
}

/** @throws TypeError that names the field, what was expected and what came */
export function etcdSettings(config: EtcdConfig & { readonly deadline: number }) {
  const {
    url,
    fetch = globalThis.fetch,
    deadline,
    backoff = exponential({ initial: 250, max: 5_000 }),
    observability = defaultObservability(),
    scheduler = asyncScheduler,
  } = config;
  const urls = endpoints(url);
  checkFunction('fetch', fetch);
  checkInterval('deadline', deadline);
  checkFunction('backoff', backoff);
  checkObservability('observability', observability);
  checkScheduler('scheduler', scheduler);
  return { urls, fetch, deadline, backoff, scheduler, logger: safeLogger(observability.logger) };
}
