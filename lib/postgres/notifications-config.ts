import { asyncScheduler, EMPTY, type SchedulerLike } from 'rxjs';
import { type Backoff, exponential } from '../../operators/backoff.js';
import { A_WEEK } from '../a-week.js';
import { checkFunction, checkInterval, checkObject, checkScheduler, checkTimeout } from '../../operators/check.js';
import { safeLogger } from '../observability/logging/safe-logger.js';
import { checkObservability, defaultObservability, type Observability } from '../observability/observability.js';
import type { IdList } from '../list-ids.js';
import { checkConnection, type Connection } from './connection.js';
import { checkIdentifier } from './identifier.js';

/** How `notifications` behaves. */
export interface NotificationsConfig {
  /** Where to connect. It must be a session of its own: LISTEN does not work through a transaction-pooling proxy. */
  readonly connection: Connection;
  /** The channel, taken as it stands: `NOTIFY Orders` without quotes goes to `orders`. At most 63 bytes. */
  readonly channel: string;
  /**
   * Lists all ids there are, or should be, after every (re)connect: what was notified meanwhile is lost. `signal` aborts
   * when it is over time or nobody wants it any more. Default: none; then something else must find what was missed.
   */
  readonly list?: ((signal: AbortSignal) => IdList) | undefined;
  /** How long a list may take, in ms; Infinity means no limit. Default 30_000, as for a resync. */
  readonly timeout?: number | undefined;
  /** How often PostgreSQL is asked whether it still answers, in ms, > 0. Default 10_000: a lost event is late by that much. */
  readonly heartbeat?: number | undefined;
  /** How long PostgreSQL may take to connect or to answer, in ms, > 0; after it the connection counts as dead. Default 5_000. */
  readonly deadline?: number | undefined;
  /** How long to wait before connecting again. Default {@link exponential} from 250 to 30_000 ms. */
  readonly backoff?: Backoff | undefined;
  /** Where to log. Default {@link defaultObservability}. */
  readonly observability?: Observability | undefined;
  /** The only source of time. Default `asyncScheduler`. */
  readonly scheduler?: SchedulerLike | undefined;
}

/** A {@link NotificationsConfig} that is checked and whole. */
export type NotificationsSettings = ReturnType<typeof notificationsSettings>;

/** @throws TypeError that names the field, what was expected and what came */
export function notificationsSettings(config: NotificationsConfig) {
  checkObject('config', config);
  const {
    connection,
    channel,
    list = () => EMPTY,
    timeout = 30_000,
    heartbeat = 10_000,
    deadline = 5_000,
    backoff = exponential({ initial: 250, max: 30_000 }),
    observability = defaultObservability(),
    scheduler = asyncScheduler,
  } = config;
  checkConnection(connection);
  checkIdentifier('channel', channel);
  checkFunction('list', list);
  checkTimeout('timeout', timeout);
  checkInterval('heartbeat', heartbeat, A_WEEK);
  checkInterval('deadline', deadline, A_WEEK);
  checkFunction('backoff', backoff);
  checkScheduler('scheduler', scheduler);
  checkObservability('observability', observability);
  const logger = safeLogger(observability.logger);
  return { connection, channel, list, timeout, heartbeat, deadline, backoff, scheduler, logger };
}
