import {
  catchError,
  defer,
  EMPTY,
  ignoreElements,
  mergeMap,
  Observable,
  repeat,
  retry,
  Subject,
  type Subscription,
  switchMap,
  takeUntil,
  tap,
  throwError,
} from 'rxjs';
import { after } from '../../operators/after.js';
import type { Gateway, GatewayConfig } from './gateway.js';
import { isTransient } from './etcd-error.js';
import type { LeaseAnswer } from './messages.js';

/** A session is a lease, which etcd gives up when it has heard nothing of it for its time to live. */
export interface SessionConfig extends GatewayConfig {
  /** How long etcd is to wait, in ms. It counts in seconds, and has a least. */
  readonly ttl: number;
}

/** A lease that is alive. */
export interface Session {
  readonly gateway: Gateway;
  /** Put beside a key, it makes the key go when the session ends. */
  readonly lease: string;
}

/**
 * Emits a session, keeps it alive, and errors when it is lost or may be soon: never completes. It is renewed every quarter of
 * its time to live, and counts as lost three quarters of that time after the last renewal that was answered had been *sent*
 * (H6): by then etcd has kept it a quarter longer, at the least. Unsubscribing ends it, even where it is granted only after
 * that, within the deadline.
 */
export function session(gateway: Gateway, config: SessionConfig): Observable<Session> {
  const { ttl, deadline, scheduler } = config;
  const grant = gateway.ask<LeaseAnswer>('lease/grant', { TTL: Math.ceil(ttl / 1_000) });
  // Made by hand: the request outlives the subscription, so that what it is granted is known, and can be ended.
  return new Observable((subscriber) => {
    const unwanted = new Subject<void>();
    const granted = grant.pipe(
      mergeMap(({ ID: lease = '', TTL }) => {
        const session = { gateway, lease };
        return subscriber.closed ? revoked(session) : alive(session, Number(TTL) * 1_000, config).pipe(takeUntil(unwanted));
      }),
      takeUntil(unwanted.pipe(switchMap(() => after(deadline, scheduler)))),
    );
    granted.subscribe({
      next: (session) => {
        subscriber.next(session);
      },
      error: (error: unknown) => {
        subscriber.error(error);
      },
    });
    return () => {
      unwanted.next();
    };
  });
}

function alive(session: Session, ttl: number, { scheduler }: SessionConfig): Observable<Session> {
  const beat = ttl / 4;
  const life = 3 * beat;
  // Made by hand: the timer of a renewal outlives its request, and ends with the one that comes after.
  return new Observable((subscriber) => {
    let armed: Subscription | undefined;
    let isLost = false;
    const lose = (error: unknown): void => {
      isLost = armed !== undefined;
      subscriber.error(error);
    };
    const runsOut = after(life, scheduler).pipe(
      tap(() => {
        lose(new Error(`etcd has not answered for ${life} ms, and will end the session`));
      }),
    );
    const renewal = defer(() => {
      const next = runsOut.subscribe();
      subscriber.add(next);
      return session.gateway.ask<LeaseAnswer>('lease/keepalive', { ID: session.lease }).pipe(
        tap({
          next: ({ TTL = '0' }) => {
            if (Number(TTL) <= 0) throw new SessionLostError();
            const isFirst = armed === undefined;
            armed?.unsubscribe();
            armed = next;
            if (isFirst) subscriber.next(session);
          },
          error: () => {
            next.unsubscribe();
          },
        }),
      );
    });
    const again = (error: unknown): Observable<unknown> =>
      armed !== undefined && isTransient(error) ? after(beat / 4, scheduler) : throwError(() => error);
    // Not one that is lost: what has run in it may still be ending, and is given the rest of its time for that.
    subscriber.add(() => {
      if (!isLost) revoked(session).subscribe();
    });
    return renewal.pipe(retry({ delay: again }), repeat({ delay: () => after(beat, scheduler) })).subscribe({ error: lose });
  });
}

/** If etcd does not hear it, the time to live ends it. */
function revoked({ gateway, lease }: Session): Observable<never> {
  return gateway.ask('lease/revoke', { ID: lease }).pipe(
    ignoreElements(),
    catchError(() => EMPTY),
  );
}

class SessionLostError extends Error {
  override readonly name = 'SessionLostError';

  constructor() {
    super('etcd has ended the session');
  }
}
