import { filter, type SchedulerLike, type Subscription, take, takeUntil } from 'rxjs';
import { after } from '../operators/after.js';
import type { Leadership } from './leadership.js';
import type { Logger } from './observability/logging/logger.js';
import { safely } from './observability/safely.js';

/** In ms: long enough for any election to say something, and short enough for someone who sits before a silent terminal. */
const WAIT = 5_000;

/** What {@link warnOfStandingBy} needs to know. */
export interface StandingByConfig {
  /** Whether `becomeLeader()` is the only way to lead. */
  readonly isManual: boolean;
  readonly scheduler: SchedulerLike;
  readonly logger: Logger;
}

/**
 * Warns once, after 5 s without a term, where that is likely to be a mistake: nobody has called `becomeLeader()`, or another
 * Controller of this process leads by the very same source. Standing by beside another process is in order.
 */
export function warnOfStandingBy(leadership: Leadership, { isManual, scheduler, logger }: StandingByConfig): Subscription {
  const hasLed = leadership.leads.pipe(filter(Boolean), take(1));
  const warn = safely(() => {
    if (isManual) {
      logger.warn('This controller stands by, since nobody has called its becomeLeader() yet', {
        hint: 'Set `leaderElectionEnabled: false` to work without an election, or give `leader`, or call becomeLeader()',
      });
    } else if (leadership.isHeldElsewhere) {
      logger.warn('This controller stands by, since another one of this process leads by the same `leader`', {
        hint: 'Each subscribes for itself, and one lease has one holder: share it (`leader.pipe(shareReplay({ bufferSize: 1, refCount: true }))`), or give each a lease of its own',
      });
    }
  });
  return after(WAIT, scheduler)
    .pipe(takeUntil(hasLed))
    .subscribe({
      next: warn,
      // The loop hears of it as well, and `run` rejects.
      error: () => undefined,
    });
}
