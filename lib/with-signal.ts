import { defer, from, type Observable, type ObservableInput, tap } from 'rxjs';

/**
 * What `make` returns, with a signal that aborts when it is let go before its end. After a completion it does not: nothing
 * is left to be stopped, and a listener might take it out on a connection that is already someone else's.
 */
export function withSignal<T>(make: (signal: AbortSignal) => ObservableInput<T>): Observable<T> {
  return defer(() => {
    const controller = new AbortController();
    const abort = (): void => {
      controller.abort();
    };
    return from(make(controller.signal)).pipe(tap({ error: abort, unsubscribe: abort }));
  });
}
