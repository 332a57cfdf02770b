import {
  concat,
  defer,
  ignoreElements,
  map,
  merge,
  mergeMap,
  type Observable,
  type ObservableInput,
  type SchedulerLike,
  Subject,
  take,
  takeUntil,
  tap,
} from 'rxjs';
import { after } from '../operators/after.js';
import { check } from '../operators/check.js';
import { isObservableInput } from '../operators/observable-input.js';
import type { Logger } from './observability/logging/logger.js';
import { safely } from './observability/safely.js';
import { withSignal } from './with-signal.js';

/** Ids, one by one or in batches. `object`, because a string would be taken for a list of its letters. */
export type IdList = ObservableInput<string | readonly string[]> & object;

/** What {@link listIds} needs to know. */
export interface ListIdsConfig {
  /** Lists all ids there are. `signal` aborts when the list is over time or nobody wants it any more. */
  readonly list: (signal: AbortSignal) => IdList;
  /** How long a list may take, in ms; Infinity means no limit. */
  readonly timeout: number;
  readonly scheduler: SchedulerLike;
  readonly logger: Logger;
}

/** For how long, in ms, a list that was let go may be open before that is logged: one that heeds its signal ends at once. */
const TOLD_AFTER = 1_000;

/**
 * Emits the ids of one list, batches unpacked, and completes with it; what is no id is emitted as it is. Errors if the list fails, is no list, or takes longer
 * than `timeout`. Unsubscribing aborts its signal.
 *
 * One list at a time, also for a list that ignores its signal: one that is still open after it was let go holds the next one
 * back, whichever subscription wants it, until it has settled (F3). That is logged as a warning, once for each list that is
 * held.
 *
 * @example
 * const ids = listIds({ list: (signal) => fetchIds(signal), timeout: 30_000, scheduler: asyncScheduler, logger });
 */
export function listIds({ list, timeout, scheduler, logger }: ListIdsConfig): Observable<string> {
  // Not in `defer`: it is the same list that a later subscription would call while the one before is still open.
  const open = new Set<Promise<unknown>>();
  const closed = new Subject<void>();
  const hold = (rest: Promise<unknown>): void => {
    open.add(rest);
    const release = (): void => {
      open.delete(rest);
      if (open.size === 0) closed.next();
    };
    rest.then(release, release);
  };
  const warn = safely(() => {
    logger.warn('A list of all ids that was let go is still going on, and ignores its signal: the next list waits for its end');
  });

  const overtime = after(timeout, scheduler).pipe(
    map((): never => {
      throw new Error(`Listing all ids took longer than ${String(timeout)} ms`);
    }),
  );
  const listing = withSignal((signal) => {
    const ids: unknown = list(signal);
    check('list', ids, 'a function that returns an Observable, promise or iterable of ids', isObservableInput(ids));
    return ids as IdList;
  }, hold).pipe(
    // What is neither an id nor a batch is passed on, for the loop to reject it alone (Q4).
    mergeMap((ids: unknown) => (isObservableInput(ids) ? ids : [ids]) as ObservableInput<string> & object),
    takeUntil(overtime),
  );
  const told = after(TOLD_AFTER, scheduler).pipe(tap(warn), ignoreElements());
  const untilClosed = merge(closed, told).pipe(take(1), ignoreElements());
  return defer(() => (open.size === 0 ? listing : concat(untilClosed, listing)));
}
