import {
  concat,
  concatMap,
  defer,
  dematerialize,
  distinctUntilChanged,
  EMPTY,
  filter,
  first,
  ignoreElements,
  map,
  materialize,
  merge,
  mergeMap,
  type Observable,
  type ObservableNotification,
  of,
  repeat,
  switchMap,
  tap,
  throttleTime,
} from 'rxjs';
import { after } from '../../operators/after.js';
import { exponential } from '../../operators/backoff.js';
import { coalesceMap } from '../coalesce-map.js';
import type { Term } from '../config.js';
import { type LeadershipConfig, leadershipSettings, type LeadershipSettings } from './leadership-config.js';
import { createTable, listen, nextTerm, stepDown, STEPPED_DOWN, tryLock } from './leadership-sql.js';
import { reconnectingSession } from './reconnecting-session.js';
import { PoolerError, sameBackend } from './same-backend.js';
import type { Session, Statement } from './session.js';
import { patience, prepare, probe, tableIsMissing } from './session-sql.js';

/**
 * Emits `{ term }` when it has become the leader and false while it is not: false first, and false again as soon as the
 * connection is lost, or PostgreSQL has not answered for `heartbeat + deadline` ms. It goes on trying for ever.
 *
 * The leader is the session that holds an advisory lock. PostgreSQL frees the lock when that session ends, and ends a
 * session that is silent for `max(heartbeat, 1.2 * retry) + 2 * deadline` ms (5.2 s by default, by `idle_session_timeout`,
 * PostgreSQL 14 and later). A leader that runs has given up by then. One that does not, because its process is stopped or
 * its event loop blocked, may wake up and write once more before it notices: let the write check the term, and PostgreSQL
 * refuses it.
 *
 * Never completes. Errors only where no retry helps, which is behind a transaction-pooling proxy; everything else is
 * logged and tried again. Unsubscribing frees the lock and notifies those that stand by, within `deadline` ms.
 *
 * @throws TypeError if a field is out of its range
 * @example
 * const leader = leadership({ connection: 'postgres://db.example.org/app', name: 'dns' });
 * await new Controller({ leader }, reconciler, streams).run(signal);
 */
export function leadership(config: LeadershipConfig): Observable<Term | false> {
  const settings = leadershipSettings(config);
  const { name, logger } = settings;
  const terms = reconnectingSession(
    (opened, succeeded) =>
      opened.pipe(
        switchMap((session) => campaign(session, settings, succeeded)),
        tap(({ term }) => {
          logger.info('Leading', { name, term });
        }),
        // Before the session is closed, which `catchError` would do first: nobody may believe to lead when the lock is free.
        materialize(),
        mergeMap((notification) => (notification.kind === 'E' ? [LOST, notification] : [notification])),
        dematerialize(),
      ),
    { ...settings, patience: patience(settings), what: `Leadership of ${name}`, isFinal: (error) => error instanceof PoolerError },
  );
  return concat(of<false>(false), terms).pipe(distinctUntilChanged());
}

const LOST: ObservableNotification<Term | false> = { kind: 'N', value: false };

/** How often one tries at most because others have stepped down, in ms: they may do so thousands of times a second. */
const SPACING = 100;

/** Waits for the lock, emits the term that begins with it, and watches over the session from then on. */
function campaign(session: Session, settings: LeadershipSettings, succeeded: () => void): Observable<Term> {
  const { name, logger, heartbeat, scheduler } = settings;
  const check = sameBackend(session.processID, logger);
  const ask = (statement: Statement): Observable<unknown> =>
    session.query(statement).pipe(
      check,
      map(([row]) => row),
    );
  const locked = tries(session, settings).pipe(
    coalesceMap(() => ask(tryLock(name))),
    map((row) => (row as { held: boolean }).held),
    tap((held) => {
      if (held) session.farewell = stepDown(name);
      else succeeded();
    }),
    first((held) => held),
  );
  const table = session
    .query(tableIsMissing(settings))
    .pipe(concatMap(([row]) => ((row as { missing: boolean }).missing ? session.query(createTable(settings)) : EMPTY)));
  const term = ask(nextTerm(settings)).pipe(
    map((row) => ({ term: Number((row as { term: string }).term) })),
    tap(succeeded),
  );
  const watch = after(heartbeat, scheduler).pipe(
    concatMap(() => ask(probe)),
    repeat(),
  );
  return concat(silent(ask(prepare(settings))), silent(session.query(listen)), silent(locked), silent(table), term, silent(watch));
}

/** Says when to try: now, and again every now and then, and as soon as someone has stepped down. */
function tries(session: Session, { name, retry, scheduler }: LeadershipSettings): Observable<unknown> {
  const jittered = exponential({ initial: retry, max: Infinity });
  const everyNowAndThen = defer(() => after(jittered(1, undefined), scheduler)).pipe(repeat());
  const steppedDown = session.payloads(STEPPED_DOWN).pipe(
    filter((whose) => whose === name),
    throttleTime(SPACING, scheduler, { leading: true, trailing: true }),
  );
  return merge(of(undefined), everyNowAndThen, steppedDown);
}

function silent(source: Observable<unknown>): Observable<never> {
  return source.pipe(ignoreElements());
}
