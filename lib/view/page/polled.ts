import {
  asyncScheduler,
  catchError,
  defer,
  distinctUntilChanged,
  EMPTY,
  fromEvent,
  map,
  merge,
  NEVER,
  type Observable,
  of,
  repeat,
  startWith,
  switchMap,
  take,
  tap,
  timer,
} from 'rxjs';

/** What came of asking the server. */
export type Answered<T> = { readonly value: T } | { readonly error: unknown };

/** Whether anybody can see the page: what is in the background asks for nothing. */
export const visible: Observable<boolean> = fromEvent(document, 'visibilitychange').pipe(
  startWith(undefined),
  map(() => document.visibilityState === 'visible'),
  distinctUntilChanged(),
);

/** How many times as long as its answer has taken the server is left alone afterwards: most of its time is for the loop. */
const REST = 9;

/**
 * Asks for `load` again and again while the page can be seen. What fails is told, and asked for again.
 *
 * @param every - ms from an answer to the next question, or how to tell by the answer; longer where answers take long
 * @param sooner - when it emits, the next question is asked at once
 */
export function polled<T>(
  load: () => Observable<T>,
  every: number | ((answered: Answered<T>) => number),
  sooner: Observable<unknown> = NEVER,
): Observable<Answered<T>> {
  return visible.pipe(
    switchMap((isVisible) => {
      if (!isVisible) return EMPTY;
      let asked = 0;
      let took = 0;
      let pause = 0;
      return defer(() => {
        asked = asyncScheduler.now();
        return load().pipe(
          map((value): Answered<T> => ({ value })),
          catchError((error: unknown) => of<Answered<T>>({ error })),
          tap({
            next: (answered) => (pause = typeof every === 'number' ? every : every(answered)),
            complete: () => (took = asyncScheduler.now() - asked),
          }),
        );
      }).pipe(repeat({ delay: () => merge(timer(Math.max(pause, took * REST)), sooner).pipe(take(1)) }));
    }),
  );
}
