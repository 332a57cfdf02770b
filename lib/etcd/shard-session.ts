import {
  finalize,
  map,
  type Observable,
  ReplaySubject,
  retry,
  share,
  Subject,
  type Subscription,
  switchMap,
  take,
  takeUntil,
  tap,
  throwError,
} from 'rxjs';
import { after } from '../../operators/after.js';
import type { Held } from '../shards/balance.js';
import { Holdings } from '../shards/holdings.js';
import { isRefusal } from './etcd-error.js';
import type { Gateway } from './gateway.js';
import { session } from './session.js';
import { ShardKeys } from './shard-keys.js';
import type { ShardsSettings } from './shards-config.js';

/** One session for shards: what it holds, and what must be seen through in it after its membership has ended. */
export class ShardSession {
  /** Emits once it is open, and errors when it is lost. It is open for as long as somebody is subscribed. */
  readonly keys: Observable<ShardKeys>;
  /** Errors once etcd has refused what must be seen through: only the end of the session will do it then. */
  readonly refused: Observable<never>;
  readonly holdings = new Holdings((held) => {
    this.free(held);
    if (this.#isEnding) this.endWhenIdle();
  });
  readonly #settings: ShardsSettings;
  readonly #kept: Subscription;
  readonly #freeing = new Set<string>();
  readonly #refused = new Subject<never>();
  readonly #idle = new ReplaySubject<void>(1);
  #isEnding = false;

  constructor(gateway: Gateway, settings: ShardsSettings) {
    this.#settings = settings;
    this.refused = this.#refused.asObservable();
    this.keys = session(gateway, settings).pipe(
      map((session) => new ShardKeys(session, settings)),
      share({ connector: () => new ReplaySubject(1), resetOnError: false }),
    );
    this.#kept = this.keys.subscribe({
      error: () => {
        this.holdings.loseAllBut([]);
      },
    });
  }

  /** Ends the membership, and frees what is held and does not run: the answer to its take was lost. */
  leave(): void {
    this.#seeThrough((keys) =>
      keys.leave().pipe(
        tap((held) => {
          this.freeStrays(held);
        }),
      ),
    );
  }

  /** Frees what the engine shows as ours and does not run here. */
  freeStrays(held: readonly Held[]): void {
    for (const owner of held) if (!this.holdings.has(owner)) this.free(owner);
  }

  free(held: Held): void {
    const key = `${held.shard}:${held.term}`;
    if (this.#freeing.has(key)) return;
    this.#freeing.add(key);
    this.#seeThrough(
      (keys) => keys.free(held),
      () => this.#freeing.delete(key),
    );
  }

  /** Ends the session once nothing is held any more, and all is seen through or the deadline is over: the rest goes with it. */
  endWhenIdle(): void {
    this.#isEnding = true;
    if (this.holdings.size > 0) return;
    this.#kept.unsubscribe();
    this.#idle.next();
  }

  /** Tries until it is done or refused, or the session is at its end. */
  #seeThrough(request: (keys: ShardKeys) => Observable<unknown>, done: () => unknown = () => undefined): void {
    const { retry: pause, deadline, scheduler } = this.#settings;
    const again = (error: unknown): Observable<unknown> => (isRefusal(error) ? throwError(() => error) : after(pause, scheduler));
    const tried = this.keys.pipe(
      switchMap((keys) => request(keys).pipe(retry({ delay: again }))),
      take(1),
      takeUntil(this.#idle.pipe(switchMap(() => after(deadline, scheduler)))),
      finalize(done),
    );
    tried.subscribe({
      error: (error: unknown) => {
        this.#refuse(error);
      },
    });
  }

  /** Lets go of everything, so that the session can end; the membership, which ends it, is the first to go (H10). */
  #refuse(error: unknown): void {
    if (this.#isEnding) return;
    this.#refused.error(error);
    for (const { shard } of this.holdings.staying) this.holdings.revoke(shard);
  }
}
