import { type Backoff, exponential } from 'kreconciler';
import { concat, defer, type MonoTypeOperatorFunction, retry, throwError, timer } from 'rxjs';

/** How long a connection has to last for the next failure to count as the first again, in ms: as long as the longest delay. */
const STABLE = 30_000;

/**
 * Subscribes again after each failure, and after an end, which a stream of events does not have: later every time, until a
 * connection has lasted. Each failure is logged. Never completes, never errors.
 */
export function reconnect<T>(what: string, backoff: Backoff = exponential({ initial: 250, max: STABLE })): MonoTypeOperatorFunction<T> {
  return (source) =>
    defer(() => {
      let failures = 0;
      let connectedAt = 0;
      const ended = throwError(() => new Error(`${what} has ended`));
      return defer(() => {
        connectedAt = performance.now();
        return concat(source, ended);
      }).pipe(
        retry({
          delay: (error) => {
            failures = performance.now() - connectedAt < STABLE ? failures + 1 : 1;
            const delay = Math.round(backoff(failures, error));
            console.warn(`${what}: ${error instanceof Error ? error.message : String(error)}; trying again in ${String(delay)} ms`);
            return timer(delay);
          },
        }),
      );
    });
}
