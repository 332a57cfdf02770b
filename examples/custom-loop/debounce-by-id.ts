import { debounceTime, groupBy, mergeMap, type MonoTypeOperatorFunction, type SchedulerLike } from 'rxjs';

/**
 * Lets an id through once nothing has come for it for `ms`. The loop merges events by itself, so this is only for what must
 * not even begin while it still changes, such as a file that is being written.
 *
 * A `DelayScheduler` as `scheduler` lets all ids share a timer. Groups are kept, so the ids must not be without number.
 */
export function debounceById(ms: number, scheduler: SchedulerLike): MonoTypeOperatorFunction<string> {
  return (source) =>
    source.pipe(
      groupBy((id) => id),
      mergeMap((same$) => same$.pipe(debounceTime(ms, scheduler))),
    );
}
