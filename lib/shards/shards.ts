import type { Observable } from 'rxjs';

/**
 * One shard that this process may run, from the moment it is emitted until it ends.
 *
 * It emits `'revoked'` when somebody else is to have the shard: what runs may finish, then let go. It ends (completes or errors)
 * when the shard is lost: what runs must abort at once. Unsubscribing frees the shard, so unsubscribe only when no run of it is left.
 * It outlives the subscription to {@link Shards.holdings}. It is subscribed to once, in the call in which it is emitted.
 */
export interface Holding extends Observable<'revoked'> {
  /** Which shard, from 0 to `count - 1`. */
  readonly shard: number;
  /** Grows with each holding of a shard, and for each id even when `count` changes: a fencing token. */
  readonly term: number;
}

/**
 * Ids spread over `count` shards, each of which is held by at most one process at a time. `kreconciler/postgres` and
 * `kreconciler/etcd` have one each.
 */
export interface Shards {
  /** How many shards there are, the same for all members. */
  readonly count: number;
  /**
   * Cold: each subscription is a member with a session of its own, and emits a {@link Holding} for each shard that it is given.
   * Unsubscribing ends the membership, and with it no holding: these are let go one by one. Errors where membership is impossible,
   * for instance because the members that are there have another `count`.
   */
  readonly holdings: Observable<Holding>;
  /**
   * How many shards nobody holds, as the members that `holdings` has in this process see it: the last number at once, and then each
   * one they see. For telemetry; an engine that cannot know leaves it out. It neither completes nor errors.
   */
  readonly unowned?: Observable<number>;
}
