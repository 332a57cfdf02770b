import { defer, mergeWith, Observable, ReplaySubject, switchMap } from 'rxjs';
import { reconnecting } from '../reconnecting.js';
import { ShardCountError } from '../shards/shard-count-error.js';
import type { Holding, Shards } from '../shards/shards.js';
import { Gateway } from './gateway.js';
import { membership } from './shard-membership.js';
import { ShardSession } from './shard-session.js';
import { type ShardsConfig, shardsSettings, type ShardsSettings } from './shards-config.js';

/**
 * Spreads `count` shards evenly over all processes that subscribe to the `holdings` of the same name.
 *
 * A process is a member by a lease, and holds a shard by a key that goes with it: `kreconciler/shards/NAME/owners/SHARD`. The
 * term is the revision at which that key was created, which grows over the whole cluster. Who dies is followed within the time
 * to live that etcd granted, 1 s and one `retry`; who stops, at once. A process that etcd does not answer gives its shards up
 * itself, a quarter of the time to live before etcd does. One that is frozen cannot, and may write once more when it wakes up:
 * let the write check the revision, and etcd refuses it.
 *
 * Who is refused a transaction is no member any more: where etcd refuses even to end the membership, the shards are asked for, and
 * the lease ends once all of them are let go of.
 *
 * `holdings` never completes. It errors with a ShardCountError if there are members with another `count`; every other failure
 * is logged, and tried again.
 *
 * @throws TypeError if a field is out of its range
 * @example
 * const owned = shards({ url: 'http://127.0.0.1:2379', name: 'dns', count: 64 });
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
    holdings: defer(() => {
      // For all sessions: the next one must not begin with an endpoint that has failed.
      const gateway = new Gateway(settings);
      return reconnecting((succeeded) => oneSession(gateway, settings, succeeded, seen), {
        ...settings,
        isFinal,
        what: `The session for the shards of ${name}`,
      });
    }),
  };
}

function isFinal(error: unknown): boolean {
  return error instanceof ShardCountError;
}

/** Emits what one session is given. The session ends when that is unsubscribed, or has errored, and all of it is let go of. */
function oneSession(
  gateway: Gateway,
  settings: ShardsSettings,
  succeeded: () => void,
  seen: (unowned: number) => void,
): Observable<Holding> {
  // Made by hand: the holdings outlive the subscription, and the session outlives the holdings.
  return new Observable((subscriber) => {
    const session = new ShardSession(gateway, settings);
    const member = session.keys.pipe(
      switchMap((keys) =>
        reconnecting(
          (joined) =>
            membership(
              keys,
              session,
              () => {
                joined();
                succeeded();
              },
              seen,
            ),
          { ...settings, isFinal, what: `Membership in the shards of ${settings.name}` },
        ),
      ),
      mergeWith(session.refused),
    );
    member.subscribe(subscriber);
    // After the membership, which is the first to end (H10).
    subscriber.add(() => {
      session.endWhenIdle();
    });
  });
}
