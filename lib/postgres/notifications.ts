import {
  asyncScheduler,
  concat,
  concatMap,
  EMPTY,
  ignoreElements,
  map,
  merge,
  mergeMap,
  type Observable,
  type ObservableInput,
  repeat,
  type SchedulerLike,
  switchMap,
  takeUntil,
  tap,
} from 'rxjs';
import { after } from '../../operators/after.js';
import { type Backoff, exponential } from '../../operators/backoff.js';
import { callable, checkScheduler } from '../../operators/config.js';
import { isDelay } from '../../operators/errors.js';
import { expected } from '../../operators/expected.js';
import { isObservableInput } from '../../operators/observable-input.js';
import { defaultObservability, type Observability } from '../observability/observability.js';
import { withSignal } from '../with-signal.js';
import { checkConnection, type Connection } from './connection.js';
import { checkIdentifier, identifier } from './identifier.js';
import { checkInterval } from './interval.js';
import { reconnecting } from './reconnecting.js';
import { type Session, session } from './session.js';

/** How {@link notifications} behaves. */
export interface NotificationsConfig {
  /** Where to connect. It must be a session of its own: LISTEN does not work through a transaction-pooling proxy. */
  readonly connection: Connection;
  /** The channel, taken as it stands: `NOTIFY Orders` without quotes goes to `orders`. At most 63 bytes. */
  readonly channel: string;
  /**
   * Lists all ids there are, or should be, after every (re)connect: what was notified meanwhile is lost. `signal` aborts
   * when it is over time or nobody wants it any more. Default: none; then something else must find what was missed.
   */
  readonly list?: ((signal: AbortSignal) => ObservableInput<string | readonly string[]>) | undefined;
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
type Settings = ReturnType<typeof notificationsSettings>;

/**
 * Emits the payload of every NOTIFY on `channel`, which is to be an id, over a connection of its own. After each connect it
 * listens, and then lists all ids; what is notified during the list is passed on as it comes.
 *
 * A connection that is lost, or whose peer has not answered for `heartbeat + deadline` ms, is made anew with backoff; so it
 * is if the list fails or is over time, because what was missed is unknown then. Each is logged.
 * An empty payload is no id: it is logged and passed on, for the loop to reject and count it.
 *
 * Never completes, never errors. Unsubscribing closes the connection, within `deadline` ms.
 *
 * @throws TypeError if a field is out of its range
 * @example
 * // CREATE TRIGGER ... EXECUTE FUNCTION ... PERFORM pg_notify('services', NEW.id)
 * const changes$ = notifications({ connection: pool, channel: 'services', list: () => allIds(pool) });
 */
export function notifications(config: NotificationsConfig): Observable<string> {
  const settings = notificationsSettings(config);
  return reconnecting(
    (succeeded) => session(settings).pipe(switchMap((session) => listened(session, settings, succeeded))),
    { ...settings, what: 'Listening to PostgreSQL' },
  );
}

function listened(session: Session, settings: Settings, succeeded: () => void): Observable<string> {
  const { channel, heartbeat, scheduler, logger } = settings;
  const payloads = session.payloads(channel).pipe(
    tap((payload) => {
      if (payload === '') logger.warn('A notification holds no id', { channel });
    }),
  );
  const caughtUp = listed(settings).pipe(tap({ complete: succeeded }));
  const watch = after(heartbeat, scheduler).pipe(
    concatMap(() => session.query({ text: 'SELECT 1' })),
    repeat(),
    ignoreElements(),
  );
  const listen = session.query({ text: `LISTEN ${identifier(channel)}` }).pipe(ignoreElements());
  return merge(payloads, concat(listen, merge(caughtUp, watch)));
}

function listed({ list, timeout, scheduler }: Settings): Observable<string> {
  const overtime = after(timeout, scheduler).pipe(
    map((): never => {
      throw new Error(`Listing all ids took longer than ${String(timeout)} ms`);
    }),
  );
  return withSignal((signal) => {
    const ids = list(signal);
    expected('list', ids, 'a function that returns an Observable, promise or iterable of ids', isObservableInput(ids));
    return ids;
  }).pipe(
    mergeMap((ids) => (typeof ids === 'string' ? [ids] : ids)),
    takeUntil(overtime),
  );
}

function notificationsSettings(config: NotificationsConfig) {
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
  callable('list', list);
  expected('timeout', timeout, 'a number of ms > 0', timeout === Infinity || (isDelay(timeout) && timeout > 0));
  checkInterval('heartbeat', heartbeat);
  checkInterval('deadline', deadline);
  callable('backoff', backoff);
  checkScheduler('scheduler', scheduler);
  const { logger } = observability;
  return { connection, channel, list, timeout, heartbeat, deadline, backoff, scheduler, logger };
}
