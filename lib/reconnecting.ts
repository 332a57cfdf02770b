import { concatMap, defer, ignoreElements, merge, type Observable, retry, type SchedulerLike, Subject, take, takeUntil, tap } from 'rxjs';
import { after } from '../operators/after.js';
import { type Backoff, delayBy, longestDelay } from '../operators/backoff.js';
import { safeLogger } from './observability/logging/safe-logger.js';
import type { Logger } from './observability/logging/logger.js';

/** How long to wait where a backoff throws or answers no delay, in ms. */
const FALLBACK = 1_000;

/** What has lasted a minute was good, however long a backoff would wait, or where nobody knows how long that is. */
const STABLE = 60_000;

/**
 * Subscribes to what `attempt` returns, and again after each failure, later every time. The backoff begins anew once an
 * attempt has lasted, since it said `succeeded`, as long as the longest delay that the backoff knows, or a minute (F4): a
 * server that lets everybody in and ends each session at once must not be asked again and again without a pause.
 *
 * A failure for which `isFinal` holds errors the output.
 */
export function reconnecting<T>(
  attempt: (succeeded: () => void) => Observable<T>,
  config: {
    readonly backoff: Backoff;
    readonly scheduler: SchedulerLike;
    readonly logger: Logger;
    /** What failed, for the log. */
    readonly what: string;
    readonly isFinal?: (error: unknown) => boolean;
  },
): Observable<T> {
  const { backoff, scheduler, what, isFinal = () => false } = config;
  const logger = safeLogger(config.logger);
  return defer(() => {
    let failures = 0;
    const lasted = after(Math.min(longestDelay(backoff) ?? STABLE, STABLE), scheduler).pipe(
      tap(() => {
        failures = 0;
      }),
      ignoreElements(),
    );
    const again = (error: unknown): Observable<unknown> => {
      if (isFinal(error)) throw error;
      const delay = delayBy(backoff, ++failures, error, FALLBACK);
      logger.warn(`${what} failed, trying again`, { error, failures, delay });
      return after(delay, scheduler);
    };
    return defer(() => {
      const succeeded = new Subject<void>();
      const over = new Subject<void>();
      const lasting = succeeded.pipe(
        take(1),
        concatMap(() => lasted),
        takeUntil(over),
      );
      const attempted = defer(() =>
        attempt(() => {
          succeeded.next();
        }),
      ).pipe(tap({ complete: () => over.next() }));
      return merge(lasting, attempted);
    }).pipe(retry({ delay: again }));
  });
}
