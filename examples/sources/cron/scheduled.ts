import { Cron, type CronOptions } from 'croner';
import { type Backoff, exponential } from 'kreconciler';
import { defer, mergeMap, Observable, type ObservableInput, retry, startWith, switchMap, timer } from 'rxjs';

/** When ids are listed, and which. */
export interface ScheduledConfig {
  /** As `0 3 * * *`: at three each day. */
  readonly pattern: string;
  /** Handed to croner. Give it a `timezone`, or it is the one of the process. */
  readonly options?: Omit<CronOptions, 'paused'>;
  /** Lists the ids that are due. */
  readonly list: () => ObservableInput<string | readonly string[]>;
  /** The delay before a list that failed is tried again. Default from 1_000 to 60_000 ms. */
  readonly backoff?: Backoff;
}

/**
 * Emits what `list` lists, at once and at each time that the pattern names. At once, because a time that passed while no process
 * ran, or another led, is over: the reconciler sees what is due. A list that fails is tried again; the next time ends it.
 *
 * Never completes, never errors. Unsubscribing stops the clock.
 *
 * @throws TypeError if the pattern is none
 */
export function scheduled({
  pattern,
  options,
  list,
  backoff = exponential({ initial: 1_000, max: 60_000 }),
}: ScheduledConfig): Observable<string> {
  // It says so now if the pattern is none.
  new Cron(pattern, { ...options, paused: true }).stop();
  const times = new Observable<void>((subscriber) => {
    const job = new Cron(pattern, options ?? {}, () => subscriber.next());
    return () => job.stop();
  });
  return times.pipe(
    startWith(undefined),
    switchMap(() => defer(list).pipe(retry({ delay: (error, failures) => timer(backoff(failures, error)) }))),
    mergeMap((ids) => (typeof ids === 'string' ? [ids] : ids)),
  );
}
