import { defer, type Observable, retry, type SchedulerLike } from 'rxjs';
import { after } from '../operators/after.js';
import type { Backoff } from '../operators/backoff.js';
import { isDelay } from '../operators/errors.js';
import type { Logger } from './observability/logging/logger.js';

/** How long to wait where a backoff throws or answers no delay, in ms. */
const FALLBACK = 1_000;

/**
 * Subscribes to what `attempt` returns, and again after each failure, later every time, until `succeeded` is called.
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
  const { backoff, scheduler, logger, what, isFinal = () => false } = config;
  return defer(() => {
    let failures = 0;
    const again = (error: unknown): Observable<unknown> => {
      if (isFinal(error)) throw error;
      const delay = delayAfter(++failures, error, backoff);
      logger.warn(`${what} failed, trying again`, { error, failures, delay });
      return after(delay, scheduler);
    };
    return defer(() =>
      attempt(() => {
        failures = 0;
      }),
    ).pipe(retry({ delay: again }));
  });
}

function delayAfter(failures: number, error: unknown, backoff: Backoff): number {
  try {
    const delay = backoff(failures, error);
    return isDelay(delay) ? delay : FALLBACK;
  } catch {
    return FALLBACK;
  }
}
