import { Observable, takeUntil } from 'rxjs';
import { Trampoline } from './trampoline.js';
import type { Step } from './types.js';

/** Runs `work` with a trampoline of its own and emits the steps that leave by it; completes or fails with `work`. */
export function trampolined(work: (trampoline: Trampoline) => Observable<unknown>): Observable<Step> {
  // Made by hand: the end must wait in the same line as the steps.
  return new Observable((subscriber) => {
    let end: (() => void) | undefined;
    const trampoline = new Trampoline(subscriber, () => end?.());
    const endBy = (last: () => void): void => {
      end = last;
      trampoline.flush();
    };
    // Whoever unsubscribes on seeing a step may do so before `subscribe` has returned; the work ends there and then (P3).
    const unsubscribed = new Observable<void>((notifier) => {
      subscriber.add(() => {
        notifier.next();
      });
    });
    return work(trampoline)
      .pipe(takeUntil(unsubscribed))
      .subscribe({
        error: (error: unknown) => {
          endBy(() => {
            subscriber.error(error);
          });
        },
        complete: () => {
          endBy(() => {
            subscriber.complete();
          });
        },
      });
  });
}
