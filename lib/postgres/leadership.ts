import {
  asyncScheduler,
  catchError,
  concat,
  concatMap,
  defer,
  distinctUntilChanged,
  EMPTY,
  filter,
  first,
  ignoreElements,
  map,
  merge,
  type Observable,
  of,
  repeat,
  type SchedulerLike,
  switchMap,
  tap,
  throwError,
} from 'rxjs';
import { after } from '../../operators/after.js';
import { type Backoff, exponential } from '../../operators/backoff.js';
import { callable, checkScheduler } from '../../operators/config.js';
import { expected } from '../../operators/expected.js';
import type { Term } from '../config.js';
import { defaultObservability, type Observability } from '../observability/observability.js';
import { checkConnection, type Connection } from './connection.js';
import { checkIdentifier } from './identifier.js';
import { checkInterval } from './interval.js';
import { createTable, listen, nextTerm, prepare, probe, stepDown, STEPPED_DOWN, tableIsMissing, tryLock } from './leadership-sql.js';
import { reconnecting } from './reconnecting.js';
import { PoolerError, sameBackend } from './same-backend.js';
import { type Session, session, type Statement } from './session.js';

/** How {@link leadership} behaves. */
export interface LeadershipConfig {
  /** Where to connect. It must be a session of its own: a transaction-pooling proxy in between breaks session locks. */
  readonly connection: Connection;
  /** What is led. Whoever uses the same name in the same database competes for the same lock. */
  readonly name: string;
  /** The table of the fencing tokens, made if it is not there. Default `'kreconciler_terms'`. */
  readonly table?: string | undefined;
  /** The schema of that table. Default: the first of the `search_path`, as for any unqualified name. */
  readonly schema?: string | undefined;
  /** How often the leader asks PostgreSQL whether it still answers, in ms, > 0. Default 1_000: one trivial query a second. */
  readonly heartbeat?: number | undefined;
  /**
   * How long PostgreSQL may take to connect or to answer, in ms, > 0; after it leadership counts as lost. Default 2_000:
   * far more than a healthy server takes, and short enough that a hand-over takes seconds.
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
type Settings = ReturnType<typeof leadershipSettings>;

/**
 * Emits `{ term }` when it has become the leader and false while it is not: false first, and false again as soon as the
 * connection is lost, or PostgreSQL has not answered for `heartbeat + deadline` ms. It goes on trying for ever.
 *
 * The leader is the session that holds an advisory lock. PostgreSQL frees the lock when that session ends, and ends a
 * session that is silent for `max(heartbeat, 1.2 * retry) + 2 * deadline` ms (5 s by default, by `idle_session_timeout`,
 * PostgreSQL 14 and later). A leader that runs has given up by then. One that does not, because its process is stopped or
 * its event loop blocked, may wake up and write once more before it notices: let the write check the term, and PostgreSQL
 * refuses it.
 *
 * Never completes. Errors only where no retry helps, which is behind a transaction-pooling proxy; everything else is
 * logged and tried again. Unsubscribing frees the lock and tells those that stand by, within `deadline` ms.
 *
 * @throws TypeError if a field is out of its range
 * @example
 * const leader = leadership({ connection: 'postgres://db.example.org/app', name: 'dns' });
 * await new Controller({ leader }, reconciler, streams).run(signal);
 */
export function leadership(config: LeadershipConfig): Observable<Term | false> {
  const settings = leadershipSettings(config);
  const { name, logger } = settings;
  const terms = reconnecting(
    (succeeded) =>
      session(settings).pipe(
        switchMap((session) => campaign(session, settings, succeeded)),
        tap(({ term }) => {
          logger.info('Leading', { name, term });
        }),
        // Before the session is closed: nobody may believe to lead when the lock is free.
        catchError((error: unknown) => concat(of<false>(false), throwError(() => error))),
      ),
    { ...settings, what: `Leadership of ${name}`, isFinal: (error) => error instanceof PoolerError },
  );
  return concat(of<false>(false), terms).pipe(distinctUntilChanged());
}

/** Waits for the lock, emits the term that begins with it, and watches over the session from then on. */
function campaign(session: Session, settings: Settings, succeeded: () => void): Observable<Term> {
  const { name, logger, heartbeat, scheduler } = settings;
  const check = sameBackend(session.processID, logger);
  const ask = (statement: Statement): Observable<unknown> =>
    session.query(statement).pipe(
      check,
      map(([row]) => row),
    );
  const locked = tries(session, settings).pipe(
    concatMap(() => ask(tryLock(name))),
    tap(succeeded),
    first((row) => (row as { held: boolean }).held),
    tap(() => {
      session.farewell = stepDown(name);
    }),
  );
  const table = session
    .query(tableIsMissing(settings))
    .pipe(concatMap(([row]) => ((row as { missing: boolean }).missing ? session.query(createTable(settings)) : EMPTY)));
  const term = ask(nextTerm(settings)).pipe(map((row) => ({ term: Number((row as { term: string }).term) })));
  const watch = after(heartbeat, scheduler).pipe(
    concatMap(() => ask(probe)),
    repeat(),
  );
  return concat(
    silent(ask(prepare(settings))),
    silent(session.query(listen)),
    silent(locked),
    silent(table),
    term,
    silent(watch),
  );
}

/** Says when to try: now, and again every now and then, and as soon as someone has stepped down. */
function tries(session: Session, { name, retry, scheduler }: Settings): Observable<unknown> {
  const jittered = exponential({ initial: retry, max: Infinity });
  const everyNowAndThen = defer(() => after(jittered(1, undefined), scheduler)).pipe(repeat());
  const steppedDown = session.payloads(STEPPED_DOWN).pipe(filter((whose) => whose === name));
  return merge(of(undefined), everyNowAndThen, steppedDown);
}

function silent(source: Observable<unknown>): Observable<never> {
  return source.pipe(ignoreElements());
}

function leadershipSettings(config: LeadershipConfig) {
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
  expected('name', name, 'a non-empty string without NUL', typeof name === 'string' && name !== '' && !name.includes('\0'));
  checkIdentifier('table', table);
  if (schema !== undefined) checkIdentifier('schema', schema);
  checkInterval('heartbeat', heartbeat);
  checkInterval('deadline', deadline);
  checkInterval('retry', retry);
  callable('backoff', backoff);
  checkScheduler('scheduler', scheduler);
  const { logger } = observability;
  return { connection, name, table, schema, heartbeat, deadline, retry, backoff, scheduler, logger };
}
