import { asyncScheduler, type SchedulerLike } from 'rxjs';
import { type Backoff, exponential } from '../../operators/backoff.js';
import { A_WEEK } from '../a-week.js';
import { check, checkFunction, checkInterval, checkObject, checkScheduler } from '../../operators/check.js';
import { safeLogger } from '../observability/logging/safe-logger.js';
import { checkObservability, defaultObservability, type Observability } from '../observability/observability.js';
import { checkConnection, type Connection } from './connection.js';
import { checkIdentifier } from './identifier.js';

/** How `leadership` behaves. */
export interface LeadershipConfig {
  /** Where to connect. It must be a session of its own: a transaction-pooling proxy in between breaks session locks. */
  readonly connection: Connection;
  /** What is led. Whoever uses the same name in the same database competes for the same lock. At most 1_000 bytes. */
  readonly name: string;
  /** The table of the fencing tokens, made if it is not there. Default `'kreconciler_terms'`. */
  readonly table?: string | undefined;
  /** The schema of that table. Default: the first of the `search_path`, as for any unqualified name. */
  readonly schema?: string | undefined;
  /** How often the leader asks PostgreSQL whether it still answers, in ms, > 0. Default 1_000: one trivial query a second. */
  readonly heartbeat?: number | undefined;
  /**
   * How long PostgreSQL may take to connect or to answer, in ms, > 0; after it leadership counts as lost. Default 2_000:
   * far more than a healthy server takes, and short enough that a hand-over takes seconds. PostgreSQL itself ends a statement that
   * has taken half of it, as one that waits for a lock.
   */
  readonly deadline?: number | undefined;
  /** How often one that stands by tries, in ms, > 0, spread by a fifth either way. Default 1_000: the load of a leader. */
  readonly retry?: number | undefined;
  /** How long to wait before connecting again. Default {@link exponential} from 250 to 5_000 ms. */
  readonly backoff?: Backoff | undefined;
  /** Where to log. Default {@link defaultObservability}. */
  readonly observability?: Observability | undefined;
  /** The only source of time. Default `asyncScheduler`. */
  readonly scheduler?: SchedulerLike | undefined;
}

/** A {@link LeadershipConfig} that is checked and whole. */
export type LeadershipSettings = ReturnType<typeof leadershipSettings>;

/** @throws TypeError that names the field, what was expected and what came */
export function leadershipSettings(config: LeadershipConfig) {
  checkObject('config', config);
  const {
    connection,
    name,
    table = 'kreconciler_terms',
    schema,
    heartbeat = 1_000,
    deadline = 2_000,
    retry = 1_000,
    backoff = exponential({ initial: 250, max: 5_000 }),
    observability = defaultObservability(),
    scheduler = asyncScheduler,
  } = config;
  checkConnection(connection);
  check('name', name, 'a non-empty string without NUL', typeof name === 'string' && name !== '' && !name.includes('\0'));
  // It is a part of a key, and a row of an index holds some 2,700 bytes.
  check('name', name, 'at most 1000 bytes long', new TextEncoder().encode(name).length <= 1_000);
  checkIdentifier('table', table);
  if (schema !== undefined) checkIdentifier('schema', schema);
  checkInterval('heartbeat', heartbeat, A_WEEK);
  checkInterval('deadline', deadline, A_WEEK);
  checkInterval('retry', retry, A_WEEK);
  checkFunction('backoff', backoff);
  checkScheduler('scheduler', scheduler);
  checkObservability('observability', observability);
  const logger = safeLogger(observability.logger);
  return { connection, name, table, schema, heartbeat, deadline, retry, backoff, scheduler, logger };
}
