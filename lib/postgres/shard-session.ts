import {
  concat,
  concatMap,
  finalize,
  NEVER,
  of,
  type Observable,
  ReplaySubject,
  retry,
  share,
  startWith,
  type Subscription,
  switchMap,
  take,
  tap,
} from 'rxjs';
import { after } from '../../operators/after.js';
import { Holdings } from '../shards/holdings.js';
import type { Session } from './session.js';
import { ShardLocks } from './shard-locks.js';
import type { ShardsSettings } from './shards-config.js';

/** One session for shards: what it holds, and what must be seen through in it after its membership has ended. */
export class ShardSession {
  /** Emits once it is open, and errors when it is lost. It is open for as long as somebody is subscribed. */
  readonly locks: Observable<ShardLocks>;
  readonly holdings = new Holdings(({ shard }) => {
    this.free(shard);
    if (this.#isEnding) this.endWhenIdle();
  });
  readonly #settings: ShardsSettings;
  readonly #kept: Subscription;
  readonly #freeing = new Set<number>();
  #isEnding = false;

  constructor(opened: Observable<Session>, settings: ShardsSettings) {
    this.#settings = settings;
    this.locks = opened.pipe(
      switchMap((session) => concat(ShardLocks.in(session, settings), NEVER)),
      share({ connector: () => new ReplaySubject(1), resetOnError: false }),
    );
    // The first to hear that it is lost: before the connection is closed, which frees the locks (H6).
    this.#kept = this.locks.pipe(switchMap((locks) => this.#beat(locks))).subscribe({
      error: () => {
        this.holdings.loseAllBut([]);
      },
    });
  }

  /** Whether the lock of a shard is about to be freed. */
  isFreeing(shard: number): boolean {
    return this.#freeing.has(shard);
  }

  /** What runs here must be locked; what is locked and does not run here is for others to run. */
  compare(locked: readonly number[]): void {
    const running = this.holdings.running.map(({ shard }) => shard);
    for (const shard of running) if (!locked.includes(shard)) this.holdings.lose(shard);
    for (const shard of locked) if (!running.includes(shard)) this.free(shard);
  }

  /** Ends the membership, and frees what a take had locked that nobody waits for any more. */
  leave(): void {
    this.#seeThrough((locks) =>
      concat(
        locks.leave(),
        locks.view().pipe(
          tap((view) => {
            this.compare(locks.own(view));
          }),
        ),
      ),
    );
  }

  free(shard: number): void {
    if (this.#freeing.has(shard)) return;
    this.#freeing.add(shard);
    this.#seeThrough(
      (locks) => locks.free([shard]),
      () => this.#freeing.delete(shard),
    );
  }

  /** Ends the session once nothing is held any more, and all is seen through. */
  endWhenIdle(): void {
    this.#isEnding = true;
    if (this.holdings.size === 0) this.#kept.unsubscribe();
  }

  /** While nobody looks, as after the membership, PostgreSQL must hear of us all the same, and we of it. */
  #beat(locks: ShardLocks): Observable<unknown> {
    const { heartbeat, retry, scheduler } = this.#settings;
    return locks.answers.pipe(
      startWith(undefined),
      switchMap(() => after(Math.max(heartbeat, 1.2 * retry), scheduler)),
      concatMap(() => locks.beat()),
    );
  }

  /** Tries until it is done, or the session is lost. */
  #seeThrough(request: (locks: ShardLocks) => Observable<unknown>, done: () => unknown = () => undefined): void {
    const { retry: pause, scheduler } = this.#settings;
    const tried = this.locks.pipe(
      // Inside: until it is done the session must stay open, and once that is lost there is nothing to be done.
      switchMap((locks) => concat(request(locks).pipe(retry({ delay: () => after(pause, scheduler) })), of(undefined))),
      take(1),
      finalize(done),
    );
    tried.subscribe({ error: () => undefined });
  }
}
