import { concat, defer, ignoreElements, mergeMap, type Observable, type ObservableInput, repeat, timeout, timer } from 'rxjs';
import { reconnect } from '../support/reconnect.js';

/** How something is looked at, again and again. */
export interface PolledConfig {
  /** Notes where the looks have to begin: before the list, so that nothing falls between the two. */
  readonly begin: () => Promise<unknown>;
  /** Lists all ids there are. */
  readonly list: () => ObservableInput<string | readonly string[]>;
  /** The ids that have changed since the look before, and whether there are more. */
  readonly look: () => Promise<{ readonly ids: readonly string[]; readonly isMore: boolean }>;
  /** How long after one look the next one comes, in ms; at once if there are more. */
  readonly every: number;
  /** How long a query may take, in ms. */
  readonly silence: number;
}

/** Lists, and looks from then on. After a failure it begins anew, with backoff. Never completes, never errors. */
export function polled(name: string, { begin, list, look, every, silence }: PolledConfig): Observable<string> {
  return defer(() => {
    let isMore = false;
    const begun = defer(begin).pipe(timeout(silence), ignoreElements());
    const listed = defer(list).pipe(
      timeout({ each: silence }),
      mergeMap((ids) => (typeof ids === 'string' ? [ids] : ids)),
    );
    const looks = defer(look).pipe(
      timeout(silence),
      mergeMap((found) => {
        isMore = found.isMore;
        return found.ids;
      }),
      repeat({ delay: () => timer(isMore ? 0 : every) }),
    );
    return concat(begun, listed, looks);
  }).pipe(reconnect(name));
}
