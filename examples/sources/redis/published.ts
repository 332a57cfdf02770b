import { defer, merge, mergeMap, NEVER, Observable, type ObservableInput, switchMap } from 'rxjs';
import { reconnect } from '../support/reconnect.js';
import { type Client, connection } from './connection.js';

/** What is listened to, and what makes up for what was not heard. */
export interface PublishedConfig {
  readonly url: string;
  /** Its messages are ids. */
  readonly channel: string;
  /** Lists all ids there are. */
  readonly list: () => ObservableInput<string | readonly string[]>;
  /** How long a ping may be unanswered, in ms. Default 10_000. */
  readonly silence?: number;
}

/**
 * Emits every message of a channel, which is to be an id. After each connect it subscribes, and then lists all ids, for Redis
 * keeps nothing for who is not there. A connection that fails or is silent is made anew, with backoff; so it is if the list fails.
 *
 * Never completes, never errors. Unsubscribing closes the connection.
 */
export function published({ url, channel, list, silence = 10_000 }: PublishedConfig): Observable<string> {
  const listed = defer(list).pipe(mergeMap((ids) => (typeof ids === 'string' ? [ids] : ids)));
  return connection(url, silence).pipe(
    switchMap((client) => messages(client, channel, listed)),
    reconnect(`Redis, channel ${channel}`),
  );
}

/** What is published from now on, and then the list; it ends with the connection only. */
function messages(client: Client, channel: string, listed: Observable<string>): Observable<string> {
  return new Observable((subscriber) => {
    const subscribed = defer(() => client.subscribe(channel, (id) => subscriber.next(id)));
    return merge(subscribed.pipe(switchMap(() => listed)), NEVER).subscribe(subscriber);
  });
}
