import { defer, type Observable, type ObservableInput, tap } from 'rxjs';
import { fromInput, type OnOpen } from './from-input.js';

/**
 * What `make` returns, with a signal that aborts when it is let go before its end; `onOpen` is given what does not heed it.
 * After a completion it does not abort: nothing is left to be stopped, and a listener might take it out on a connection that
 * is already someone else's.
 */
export function withSignal<T>(make: (signal: AbortSignal) => ObservableInput<T>, onOpen?: OnOpen): Observable<T> {
  return defer(() => {
    const controller = new AbortController();
    const abort = (): void => {
      controller.abort();
    };
    return fromInput(make(controller.signal), onOpen).pipe(tap({ error: abort, unsubscribe: abort }));
  });
}
