import { Observable, type SchedulerAction, type SchedulerLike } from 'rxjs';

/** The longest delay a native timer takes: `timer(2 ** 31)` fires at once. */
const LONGEST = 2 ** 31 - 1;

/**
 * Native timers count whole ms and so do clocks, so one may fire while the other shows up to a ms too little. What is missing is waited for
 * as often as this; a clock that shows less was set back, and then the timer is right (T4).
 */
const MOST_EARLY = 4;

/**
 * Emits once after `delay` ms and completes: `timer(delay, scheduler)` that honours delays of any length (T3) by going
 * there in several hops, and is never early on the clock of `scheduler` (T1). Infinity never comes; what is no positive number counts as 0.
 */
export function after(delay: number, scheduler: SchedulerLike): Observable<0> {
  const wait = delay > 0 ? delay : 0;
  // Made by hand: the hops must reuse one action, or their subscriptions would nest without end.
  return new Observable((subscriber) => {
    if (wait === Infinity) return undefined;
    const due = scheduler.now() + wait;
    let early = 0;
    return scheduler.schedule(
      function (this: SchedulerAction<number>, left = 0) {
        const rest = due - scheduler.now();
        if (left > 0) {
          const hop = Math.min(left, LONGEST);
          this.schedule(left - hop, hop);
        } else if (rest > 0 && rest <= 1 && early++ < MOST_EARLY) {
          this.schedule(0, rest);
        } else {
          subscriber.next(0);
          subscriber.complete();
        }
      },
      Math.min(wait, LONGEST),
      wait - Math.min(wait, LONGEST),
    );
  });
}
