import {
  catchError,
  concat,
  concatMap,
  defer,
  EMPTY,
  finalize,
  first,
  ignoreElements,
  merge,
  mergeMap,
  Observable,
  repeat,
  Subject,
  tap,
  throwError,
} from 'rxjs';
import { after } from '../../operators/after.js';
import { coalesceMap } from '../coalesce-map.js';
import { balance } from '../shards/balance.js';
import type { Holding } from '../shards/shards.js';
import { isRefusal, isTransient } from './etcd-error.js';
import { looks } from './looks.js';
import { OtherMembers } from '../shards/other-members.js';
import type { ShardKeys, View } from './shard-keys.js';
import type { ShardSession } from './shard-session.js';

/** How long to wait before joining again where another was faster, in ms. */
const CONFLICT = 50;

/**
 * Makes a session a member, and emits what it takes. Errors if it cannot join, or etcd refuses it something: who cannot take
 * must not be counted on. However it ends, it ends the membership, and nothing that it has emitted; see `ShardSession.refused`.
 */
export function membership(
  keys: ShardKeys,
  session: ShardSession,
  joined: () => void,
  seen: (unowned: number) => void,
): Observable<Holding> {
  const join = keys.view().pipe(
    concatMap((view) => keys.join(view)),
    // Another has joined at the same time.
    repeat({ delay: () => after(CONFLICT, keys.settings.scheduler) }),
    first((isMember) => isMember),
    tap(joined),
    ignoreElements(),
  );
  const leave = (): void => {
    session.leave();
  };
  return concat(
    join,
    defer(() => balanced(keys, session, seen)),
  ).pipe(finalize(leave));
}

/** Looks at all there is whenever there is a reason to, lets go of what is too much, and takes what is missing. */
function balanced(keys: ShardKeys, session: ShardSession, seen: (unowned: number) => void): Observable<Holding> {
  const { count, retry, settle, scheduler } = keys.settings;
  const { holdings } = session;
  const others = new OtherMembers(keys.session.lease, settle, scheduler);
  const again = new Subject<undefined>();
  let mayTake = false;
  // Who comes together with others must see them first (H2).
  const begun = after(retry, scheduler).pipe(
    tap(() => {
      mayTake = true;
    }),
  );
  const act = (view: View): Observable<Holding> => {
    if (!view.members.includes(keys.session.lease)) return throwError(() => new Error('Somebody has ended the membership'));
    const own = keys.own(view);
    holdings.loseAllBut(own);
    session.freeStrays(own);
    const free = unowned(view, count);
    seen(free.length);
    const { take, release } = balance({
      count,
      session: keys.session.lease,
      others: others.seen(view),
      free: mayTake ? free : [],
      holdings: holdings.staying,
    });
    for (const shard of release) holdings.revoke(shard);
    const taken = keys.take(take).pipe(
      mergeMap((owner) => granted(owner, session)),
      tap({
        complete: () => {
          if (take.length > 0) again.next(undefined);
        },
      }),
    );
    return taken;
  };
  const look = keys.view().pipe(
    concatMap(act),
    // It is for the session to say how long etcd may be away.
    catchError((error: unknown) => (isTransient(error) && !isRefusal(error) ? EMPTY : throwError(() => error))),
  );
  return merge(others.settled, again, begun, looks(keys.session, keys.range, keys.settings)).pipe(coalesceMap(() => look));
}

function unowned({ owners }: View, count: number): number[] {
  const owned = new Set(owners.map(({ shard }) => shard));
  return Array.from({ length: count }, (_, shard) => shard).filter((shard) => !owned.has(shard));
}

function granted(owner: { readonly shard: number; readonly term: number }, { holdings }: ShardSession): Observable<Holding> {
  return new Observable((subscriber) => {
    holdings.grant(owner, (holding) => {
      subscriber.next(holding);
    });
    subscriber.complete();
  });
}
