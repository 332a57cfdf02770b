import { createClient } from '@redis/client';
import { defer, exhaustMap, ignoreElements, interval, merge, Observable, timeout } from 'rxjs';

/** A client that does not reconnect by itself: what it did not hear meanwhile has to be made up for by whoever uses it. */
export const client = (url: string) =>
  createClient({ url, disableOfflineQueue: true, socket: { reconnectStrategy: false, connectTimeout: 5_000 } });

export type Client = ReturnType<typeof client>;

/**
 * Emits a client once it is connected. Errors when the connection fails, breaks or does not answer a ping within `silence` ms,
 * which is asked as often. Unsubscribing closes it.
 */
export function connection(url: string, silence: number): Observable<Client> {
  return new Observable<Client>((subscriber) => {
    const connecting = client(url);
    connecting.on('error', (error) => subscriber.error(error));
    connecting.on('end', () => subscriber.error(new Error('the connection was closed')));
    const alive = interval(silence).pipe(
      exhaustMap(() => defer(() => connecting.ping()).pipe(timeout(silence))),
      ignoreElements(),
    );
    const connected = defer(() => connecting.connect()).pipe(timeout(silence));
    const watched = merge(connected, alive).subscribe(subscriber);
    return () => {
      watched.unsubscribe();
      if (connecting.isOpen) connecting.destroy();
    };
  });
}
