import { type MonoTypeOperatorFunction, Observable } from 'rxjs';
import type { Router } from './router.js';
import type { Trampoline } from './trampoline.js';

/**
 * Emits what the source does to all who listen, and delivers only then the steps that this causes: when work is cut off, no lane may
 * start anything because of what it sees another drop (L2, P2).
 */
export function heardByAll<T>(trampoline: Trampoline, router: Router): MonoTypeOperatorFunction<T> {
  return (source) =>
    new Observable((subscriber) =>
      source.subscribe({
        next: (value) => {
          router.afterwards(() => {
            trampoline.holdBack(() => {
              subscriber.next(value);
            });
          });
        },
        error: (error: unknown) => {
          subscriber.error(error);
        },
        complete: () => {
          router.afterwards(() => {
            subscriber.complete();
          });
        },
      }),
    );
}
