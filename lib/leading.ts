import {
  catchError,
  concat,
  distinctUntilChanged,
  from,
  map,
  mergeMap,
  type Observable,
  type ObservableInput,
  of,
  pairwise,
  startWith,
  throwError,
} from 'rxjs';
import type { Term } from './config.js';
import { failed } from './describe-error.js';

/** Leading, in a term that may have a number; or not. */
export type Leading = { readonly term: number | undefined } | false;

/**
 * What a leader source says, repetitions left out; between two terms it is false, whether or not the source said so.
 * A source that errors has lost, and its error names it.
 */
export function leading(leader: ObservableInput<boolean | Term>): Observable<Leading> {
  return from(leader).pipe(
    // Whatever is falsy, also what its type forbids, is not leading: of the two mistakes that is the harmless one.
    map((says): Leading => (says ? { term: says === true ? undefined : says.term } : false)),
    startWith<Leading>(false),
    distinctUntilChanged((before, now) => before === now || (before !== false && now !== false && before.term === now.term)),
    pairwise(),
    mergeMap(([before, now]) => (before !== false && now !== false ? [false as const, now] : [now])),
    catchError((error: unknown) =>
      concat(
        of(false as const),
        throwError(() => failed('The leader source', error)),
      ),
    ),
  );
}
