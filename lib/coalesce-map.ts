import { defer, EMPTY, exhaustMap, type Observable, of, type OperatorFunction, repeat, tap } from 'rxjs';

/**
 * `exhaustMap` that forgets nothing: whatever comes while `project()` runs makes it run once more afterwards, and only once
 * however much it was.
 */
export function coalesceMap<T>(project: () => Observable<T>): OperatorFunction<unknown, T> {
  return (source) =>
    defer(() => {
      let isAsked = false;
      const runs = defer(() => {
        isAsked = false;
        return project();
      }).pipe(repeat({ delay: () => (isAsked ? of(0) : EMPTY) }));
      return source.pipe(
        tap(() => {
          isAsked = true;
        }),
        exhaustMap(() => runs),
      );
    });
}
