import { concat, defer, finalize, filter, merge, mergeMap, Observable, repeat, Subject, tap, throttleTime } from 'rxjs';
import { after } from '../../operators/after.js';
import { exponential } from '../../operators/backoff.js';
import { coalesceMap } from '../coalesce-map.js';
import { balance, type Held } from '../shards/balance.js';
import { OtherMembers } from '../shards/other-members.js';
import type { Holding } from '../shards/shards.js';
import type { ShardLocks, View } from './shard-locks.js';
import type { ShardSession } from './shard-session.js';
import type { ShardsSettings } from './shards-config.js';

/** How often a member looks at most because others say that something has changed, in ms. */
const SPACING = 100;

/**
 * Makes a session a member, and emits what it takes. Errors if it cannot join, or PostgreSQL refuses it something: who cannot
 * take must not be counted on. However it ends, it ends the membership, and nothing that it has emitted.
 */
export function membership(
  locks: ShardLocks,
  session: ShardSession,
  settings: ShardsSettings,
  joined: () => void,
  seen: (unowned: number) => void,
): Observable<Holding> {
  return concat(
    locks.join().pipe(tap({ complete: joined })),
    defer(() => balanced(locks, session, settings, seen)),
  ).pipe(
    finalize(() => {
      session.leave();
    }),
  );
}

/** Looks at all there is whenever there is a reason to, lets go of what is too much, and takes what is missing. */
function balanced(
  locks: ShardLocks,
  session: ShardSession,
  settings: ShardsSettings,
  seen: (unowned: number) => void,
): Observable<Holding> {
  const { name, count, retry, settle, scheduler } = settings;
  const { holdings } = session;
  const others = new OtherMembers(locks.self, settle, scheduler);
  const again = new Subject<undefined>();
  // What it has tried to take since there was a reason to look: what it did not get of that it would not get a moment later, either,
  // and what else is free must not wait for it.
  const tried = new Set<number>();
  let mayTake = false;
  // Who comes together with others must see them first (H2).
  const begun = after(retry, scheduler).pipe(
    tap(() => {
      mayTake = true;
    }),
  );
  const act = (view: View): Observable<Holding> => {
    if (!view.members.includes(locks.self)) throw new Error('Somebody has ended the membership');
    session.compare(locks.own(view));
    seen(view.free.length);
    const { take, release } = balance({
      count,
      session: locks.self,
      others: others.seen(view),
      free: mayTake ? view.free.filter((shard) => !session.isFreeing(shard) && !tried.has(shard)) : [],
      holdings: holdings.staying,
    });
    for (const shard of release) holdings.revoke(shard);
    for (const shard of take) tried.add(shard);
    return locks.take(take).pipe(
      mergeMap((held) => granted(held, session)),
      tap({
        complete: () => {
          if (take.length > 0) again.next(undefined);
        },
      }),
    );
  };
  const jittered = exponential({ initial: retry, max: Infinity });
  const everyNowAndThen = defer(() => after(Math.min(jittered(1, undefined), settings.heartbeat), scheduler)).pipe(repeat());
  const changed = locks.changes.pipe(
    filter((whose) => whose === name),
    throttleTime(SPACING, scheduler, { leading: true, trailing: true }),
  );
  const reasons = merge(others.settled, begun, changed, everyNowAndThen).pipe(
    tap(() => {
      tried.clear();
    }),
  );
  return merge(again, reasons).pipe(coalesceMap(() => locks.view().pipe(mergeMap(act))));
}

function granted(held: Held, { holdings }: ShardSession): Observable<Holding> {
  return new Observable((subscriber) => {
    holdings.grant(held, (holding) => {
      subscriber.next(holding);
    });
    subscriber.complete();
  });
}
