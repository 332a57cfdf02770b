import { map, mergeMap, type Observable, type SchedulerLike, Subject, tap } from 'rxjs';
import { after } from '../../operators/after.js';
import type { Member } from './balance.js';

/** What an engine shows: the sessions that are members, and who holds a shard. */
export interface MembersView {
  readonly members: readonly string[];
  readonly owners: readonly { readonly session: string }[];
}

/** The members but one, and which of them have been there for `settle` ms, as that one has seen it. */
export class OtherMembers {
  readonly #self: string;
  readonly #isSettled = new Map<string, boolean>();
  readonly #newcomers = new Subject<string>();
  /** Emits when one of them has settled. Nobody does unless this is subscribed to. */
  readonly settled: Observable<unknown>;

  constructor(self: string, settle: number, scheduler: SchedulerLike) {
    this.#self = self;
    this.settled = this.#newcomers.pipe(
      mergeMap((session) => after(settle, scheduler).pipe(map(() => session))),
      tap((session) => {
        if (this.#isSettled.has(session)) this.#isSettled.set(session, true);
      }),
    );
  }

  /** Those of a view. */
  seen({ members, owners }: MembersView): readonly Member[] {
    for (const session of this.#isSettled.keys()) if (!members.includes(session)) this.#isSettled.delete(session);
    const held = new Map<string, number>();
    for (const { session } of owners) held.set(session, (held.get(session) ?? 0) + 1);
    return members
      .filter((session) => session !== this.#self)
      .map((session) => {
        if (!this.#isSettled.has(session)) {
          this.#isSettled.set(session, false);
          this.#newcomers.next(session);
        }
        return { session, held: held.get(session) ?? 0, settled: this.#isSettled.get(session) === true };
      });
  }
}
