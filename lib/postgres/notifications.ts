import { concat, concatMap, ignoreElements, merge, type Observable, repeat, switchMap, tap } from 'rxjs';
import { after } from '../../operators/after.js';
import { listIds } from '../list-ids.js';
import { identifier } from './identifier.js';
import { type NotificationsConfig, notificationsSettings, type NotificationsSettings } from './notifications-config.js';
import { reconnectingSession } from './reconnecting-session.js';
import type { Session } from './session.js';

/**
 * Emits the payload of every NOTIFY on `channel`, which is to be an id, over a connection of its own. After each connect it
 * listens, and then lists all ids; what is notified during the list is passed on as it comes.
 *
 * A connection that is lost, or whose peer has not answered for `heartbeat + deadline` ms, is made anew with backoff; so it
 * is if the list fails or is over time, because what was missed is unknown then. Each is logged. A list that ignores its signal
 * holds the next one back until it has settled.
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
  const listed = listIds(settings);
  return reconnectingSession((opened, succeeded) => opened.pipe(switchMap((session) => listened(session, listed, settings, succeeded))), {
    ...settings,
    what: 'Listening to PostgreSQL',
  });
}

function listened(
  session: Session,
  listed: Observable<string>,
  settings: NotificationsSettings,
  succeeded: () => void,
): Observable<string> {
  const { channel, heartbeat, scheduler, logger } = settings;
  const payloads = session.payloads(channel).pipe(
    tap((payload) => {
      if (payload === '') logger.warn('A notification holds no id', { channel });
    }),
  );
  const caughtUp = listed.pipe(tap({ complete: succeeded }));
  const watch = after(heartbeat, scheduler).pipe(
    concatMap(() => session.query({ text: 'SELECT 1' })),
    repeat(),
    ignoreElements(),
  );
  const listen = session.query({ text: `LISTEN ${identifier(channel)}` }).pipe(ignoreElements());
  return merge(payloads, concat(listen, merge(caughtUp, watch)));
}
