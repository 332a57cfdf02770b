import { Observable, ReplaySubject, switchMap } from 'rxjs';
import { reconnecting } from '../reconnecting.js';
import { ShardCountError } from '../shards/shard-count-error.js';
import type { Holding, Shards } from '../shards/shards.js';
import { reconnectingSession } from './reconnecting-session.js';
import { PoolerError } from './same-backend.js';
import type { Session } from './session.js';
import { patience } from './session-sql.js';
import { LockTableError } from './shard-locks.js';
import { membership } from './shard-membership.js';
import { ShardSession } from './shard-session.js';
import { type ShardsConfig, shardsSettings, type ShardsSettings } from './shards-config.js';

/**
 * Spreads `count` shards evenly over all processes that subscribe to the `holdings` of the same name in the same database.
 *
 * Each process has one session, in which an advisory lock is a shard that it holds, and a shared one its membership. Whoever
 * dies is followed as soon as PostgreSQL has ended its session, and a process that ends in good order at once. One that
 * PostgreSQL does not answer gives its shards up itself, before PostgreSQL does. One that is frozen cannot, and may write once
 * more when it wakes up: let the write check the term, and PostgreSQL refuses it. PostgreSQL ends the session of a process that is
 * silent for `max(heartbeat, 1.2 * retry) + 2 * deadline` ms (by `idle_session_timeout`, PostgreSQL 14 and later, and by
 * `idle_in_transaction_session_timeout` where it is frozen while it joins, and holds the others up).
 *
 * `holdings` never completes. It errors only where no retry helps: members that are there have another `count`, the lock table
 * of PostgreSQL has no room for so many, or a transaction-pooling proxy stands in between. Every other failure is logged, and
 * tried again.
 *
 * @throws TypeError if a field is out of its range
 * @example
 * const owned = shards({ connection: 'postgres://db.example.org/app', name: 'dns' });
 * await new Controller({ shards: owned }, reconciler, {
 *   all: (_, { acquired }) => resync({ every: 60_000, list, relistOn: acquired }),
 * }).run(signal);
 */
export function shards(config: ShardsConfig): Shards {
  const settings = shardsSettings(config);
  const { count, name } = settings;
  const unowned = new ReplaySubject<number>(1);
  const seen = (shards: number): void => {
    unowned.next(shards);
  };
  return {
    count,
    unowned: unowned.asObservable(),
    holdings: reconnectingSession((opened, succeeded) => oneSession(opened, settings, succeeded, seen), {
      ...settings,
      patience: patience(settings),
      isFinal,
      what: `The session for the shards of ${name}`,
    }),
  };
}

function isFinal(error: unknown): boolean {
  return error instanceof ShardCountError || error instanceof LockTableError || error instanceof PoolerError;
}

/** Emits what one session is given. The session ends when that is unsubscribed and all of it is let go of. */
function oneSession(
  opened: Observable<Session>,
  settings: ShardsSettings,
  succeeded: () => void,
  seen: (unowned: number) => void,
): Observable<Holding> {
  // Made by hand: the holdings outlive the subscription, and the session outlives the holdings.
  return new Observable((subscriber) => {
    const session = new ShardSession(opened, settings);
    const member = session.locks.pipe(
      switchMap((locks) =>
        reconnecting(
          (joined) =>
            membership(
              locks,
              session,
              settings,
              () => {
                joined();
                succeeded();
              },
              seen,
            ),
          { ...settings, isFinal, what: `Membership in the shards of ${settings.name}` },
        ),
      ),
    );
    member.subscribe(subscriber);
    // After the membership, which is the first to end (H10).
    subscriber.add(() => {
      session.endWhenIdle();
    });
  });
}
