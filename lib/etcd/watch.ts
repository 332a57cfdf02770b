import { connect, type Observable, type SchedulerLike, switchMap, take, takeUntil, tap } from 'rxjs';
import { after } from '../../operators/after.js';
import type { KeyRange } from './bytes.js';
import type { Gateway } from './gateway.js';
import type { WatchAnswer } from './messages.js';

/** What is watched, and from when. */
export interface WatchConfig {
  readonly range: KeyRange;
  /** The first revision whose changes are wanted. Default: those from now on. */
  readonly from?: number | undefined;
  /** The cluster that this revision is of. */
  readonly cluster?: string | undefined;
  /** How long one request may stay open, in ms: longer, and one that has gone silent would not be noticed. */
  readonly heartbeat: number;
  readonly scheduler: SchedulerLike;
}

/**
 * What one watch says, first that it has begun. Completes after `heartbeat` ms; errors as soon as something may have been
 * missed: the connection is lost, the revision is compacted, or etcd has been set back to an older state.
 */
export function watch(gateway: Gateway, { range, from, cluster, heartbeat, scheduler }: WatchConfig): Observable<WatchAnswer> {
  const request = { create_request: { ...range, ...(from === undefined ? {} : { start_revision: String(from) }) } };
  return gateway.stream<WatchAnswer>('watch', request).pipe(
    tap((answer) => {
      check(answer, from, cluster);
    }),
    connect((answers) =>
      answers.pipe(
        takeUntil(
          answers.pipe(
            take(1),
            switchMap(() => after(heartbeat, scheduler)),
          ),
        ),
      ),
    ),
  );
}

function check({ header, canceled, compact_revision, cancel_reason, created }: WatchAnswer, from = 0, cluster = header.cluster_id): void {
  if (canceled === true) {
    throw new Error(
      compact_revision === undefined
        ? `etcd ended the watch: ${cancel_reason ?? 'it gave no reason'}`
        : `etcd has compacted what was to be watched: revision ${from} is asked for, ${compact_revision} is the oldest`,
    );
  }
  if (created !== true) return;
  const revision = Number(header.revision);
  if (revision + 1 < from || header.cluster_id !== cluster) {
    throw new Error(`etcd is not what it was: revision ${from - 1} has been seen, and ${revision} is the newest`);
  }
}
