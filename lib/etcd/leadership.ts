import {
  catchError,
  concat,
  concatMap,
  defer,
  dematerialize,
  distinctUntilChanged,
  EMPTY,
  map,
  materialize,
  mergeMap,
  type Observable,
  type ObservableNotification,
  of,
  switchMap,
  tap,
} from 'rxjs';
import { coalesceMap } from '../coalesce-map.js';
import type { Term } from '../config.js';
import { reconnecting } from '../reconnecting.js';
import { encoded } from './bytes.js';
import { Gateway } from './gateway.js';
import { asKey, type LeadershipConfig, leadershipSettings, type LeadershipSettings } from './leadership-config.js';
import { looks } from './looks.js';
import type { RangeAnswer, TxnAnswer } from './messages.js';
import { type Session, session } from './session.js';

/**
 * Emits `{ term }` when it has become the leader and false while it is not: false first, and false again as soon as its lease
 * is lost, or three quarters of its time to live have passed since etcd was asked the last time that it answered. It goes on
 * trying for ever.
 *
 * The leader is the one whose lease is on the key `kreconciler/leadership/NAME`. The term is the revision at which that key was
 * created, which grows over the whole cluster. A leader whose process is stopped, or its event loop blocked, may wake up and
 * write once more before it notices: let the write check the revision, and etcd refuses it.
 *
 * Never completes, never errors: failures are logged, and tried again. Unsubscribing ends the lease, and those that stand by
 * hear of it at once.
 *
 * @throws TypeError if a field is out of its range
 * @example
 * const leader = leadership({ url: 'http://127.0.0.1:2379', name: 'dns' });
 * await new Controller({ leader }, reconciler, streams).run(signal);
 */
export function leadership(config: LeadershipConfig): Observable<Term | false> {
  const settings = leadershipSettings(config);
  const { name, logger } = settings;
  const terms = defer(() => {
    // For all sessions: the next one must not begin with an endpoint that has failed.
    const gateway = new Gateway(settings);
    return reconnecting(
      (succeeded) =>
        session(gateway, settings).pipe(
          switchMap((session) => campaign(session, settings, succeeded)),
          // Before the lease is ended, which `catchError` would do first: nobody may believe to lead when the key is free.
          materialize(),
          mergeMap((notification) => (notification.kind === 'E' ? [LOST, notification] : [notification])),
          dematerialize(),
        ),
      { ...settings, what: `Leadership of ${name}` },
    );
  });
  return concat(of<false>(false), terms).pipe(
    distinctUntilChanged((a, b) => a === b || (a !== false && b !== false && a.term === b.term)),
    tap((leads) => {
      if (leads !== false) logger.info('Leading', { name, ...leads });
    }),
  );
}

const LOST: ObservableNotification<Term | false> = { kind: 'N', value: false };

/** Says whether the session leads, each time that it has looked. */
function campaign(session: Session, settings: LeadershipSettings, succeeded: () => void): Observable<Term | false> {
  const key = encoded(`${settings.prefix}leadership/${asKey(settings.name)}`);
  let leads: Term | false = false;
  const look = session.gateway.ask<RangeAnswer>('kv/range', { key }).pipe(
    concatMap(({ kvs }) => {
      const holder = kvs?.[0];
      if (holder === undefined) return candidacy(session, key);
      return of(holder.lease === session.lease ? { term: Number(holder.create_revision) } : (false as const));
    }),
    // Who leads does so for as long as the lease is alive, which is watched over elsewhere.
    catchError((error: unknown) => {
      if (leads === false) throw error;
      return EMPTY;
    }),
    tap((now) => {
      leads = now;
      succeeded();
    }),
  );
  return looks(session, { key, range_end: '' }, settings).pipe(coalesceMap(() => look));
}

/** Creates the key if it is not there. What is created in a revision bears its number. */
function candidacy({ gateway, lease }: Session, key: string): Observable<Term | false> {
  const transaction = {
    compare: [{ key, target: 'CREATE', create_revision: 0 }],
    success: [{ request_put: { key, lease } }],
  };
  return gateway
    .ask<TxnAnswer>('kv/txn', transaction)
    .pipe(map(({ header, succeeded }) => succeeded === true && { term: Number(header.revision) }));
}
