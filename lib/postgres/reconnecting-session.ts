import { defer, finalize, type Observable } from 'rxjs';
import { reconnecting } from '../reconnecting.js';
import { type Connection, opener } from './connection.js';
import { type Session, session, type SessionConfig } from './session.js';

/** What {@link reconnecting} takes, and where to connect. */
type Config = SessionConfig & Parameters<typeof reconnecting>[1] & { readonly connection: Connection };

/**
 * {@link reconnecting} for what needs a session: `attempt` is given one to subscribe to, and it is opened where the one
 * before has failed.
 */
export function reconnectingSession<T>(
  attempt: (opened: Observable<Session>, succeeded: () => void) => Observable<T>,
  config: Config,
): Observable<T> {
  return defer(() => {
    const connections = opener(config.connection);
    const opened = session(connections, config);
    return reconnecting((succeeded) => attempt(opened, succeeded), config).pipe(
      finalize(() => {
        connections.close();
      }),
    );
  });
}
