import { Observable, type SchedulerAction, type SchedulerLike } from 'rxjs';

/** The longest delay a native timer takes: `timer(2 ** 31)` fires at once. */
const LONGEST = 2 ** 31 - 1;

/**
 * Emits once after `delay` ms and completes: `timer(delay, scheduler)` that honours delays of any length (T3) by going
 * there in several hops. Infinity never comes; what is no positive number counts as 0.
 */
export function after(delay: number, scheduler: SchedulerLike): Observable<0> {
  const wait = delay > 0 ? delay : 0;
  // Made by hand: the hops must reuse one action, or their subscriptions would nest without end.
  return new Observable((subscriber) =>
    wait === Infinity
      ? undefined
      : scheduler.schedule(
          function (this: SchedulerAction<number>, left = 0) {
            if (left > 0) {
              const hop = Math.min(left, LONGEST);
              this.schedule(left - hop, hop);
            } else {
              subscriber.next(0);
              subscriber.complete();
            }
          },
          Math.min(wait, LONGEST),
          wait - Math.min(wait, LONGEST),
        ),
  );
}
