import { catchError, concat, concatMap, defer, EMPTY, ignoreElements, lastValueFrom, map, type Observable, tap, throwError } from 'rxjs';
import type { Held } from '../shards/balance.js';
import type { MembersView } from '../shards/other-members.js';
import { ShardCountError } from '../shards/shard-count-error.js';
import { PoolerError, sameBackend } from './same-backend.js';
import type { Session, Statement } from './session.js';
import { prepare, probe, tableIsMissing } from './session-sql.js';
import type { ShardsSettings } from './shards-config.js';
import * as sql from './shards-sql.js';

/** Most of the lock table is for everybody else: who finds it full fails. */
const SHARE = 0.75;

/** All that PostgreSQL shows of the shards of one name, of one moment. */
export interface View extends MembersView {
  readonly owners: readonly { readonly session: string; readonly shard: number }[];
  readonly free: readonly number[];
}

/** Says that PostgreSQL has no room for so many locks. No retry can mend that. */
export class LockTableError extends Error {
  override readonly name = 'LockTableError';

  constructor(count: number, locks: number) {
    super(
      `Expected \`count\` to be at most ${String(SHARE * locks)}, which is ${String(SHARE * 100)} % of the lock table of PostgreSQL, ` +
        `got ${String(count)}: raise max_locks_per_transaction`,
    );
  }
}

type Check = ReturnType<typeof sameBackend>;

/** The locks of the shards of one name in one session, and what is done with them. */
export class ShardLocks {
  /** Distinguishes this session from the others. */
  readonly self: string;
  readonly #session: Session;
  readonly #settings: ShardsSettings;
  readonly #check: Check;
  #joining: Promise<unknown> = Promise.resolve();

  private constructor(session: Session, pid: number, settings: ShardsSettings, check: Check) {
    this.self = String(pid);
    this.#session = session;
    this.#settings = settings;
    this.#check = check;
  }

  /** Makes a session ready, and emits the locks that it may have. */
  static in(session: Session, settings: ShardsSettings): Observable<ShardLocks> {
    const { count } = settings;
    const check = sameBackend(session.processID, settings.logger);
    const fits = session.query(sql.capacity).pipe(
      tap(([row]) => {
        const locks = Number((row as { locks: string }).locks);
        if (count > SHARE * locks) throw new LockTableError(count, locks);
      }),
    );
    return concat(silent(fits), silent(session.query(sql.listen)), session.query(prepare(settings)).pipe(check)).pipe(
      map(([row]) => new ShardLocks(session, (row as { pid: number }).pid, settings, check)),
    );
  }

  /** Emits when another session says that something has changed. */
  get changes(): Observable<string> {
    return this.#session.payloads(sql.CHANGED);
  }

  get answers(): Observable<void> {
    return this.#session.answers;
  }

  beat(): Observable<unknown> {
    return this.#ask(probe);
  }

  view(): Observable<View> {
    return this.#ask(sql.view(this.#settings)).pipe(
      map((answer) => {
        const rows = (answer as readonly sql.ViewRow[]).map(sql.read);
        const nobody = String(null);
        return {
          members: rows.filter(({ isMember }) => isMember).map(({ session }) => session),
          owners: rows
            .filter(({ session }) => session !== nobody)
            .flatMap(({ session, shards }) => shards.map((shard) => ({ session, shard }))),
          free: rows.filter(({ session }) => session === nobody).flatMap(({ shards }) => shards),
        };
      }),
    );
  }

  /** The shards that this session has locked. */
  own({ owners }: View): readonly number[] {
    return owners.filter(({ session }) => session === this.self).map(({ shard }) => shard);
  }

  /** Makes the session a member, and writes `count` in the same transaction (H8). Errors if others are there with another one. */
  join(): Observable<never> {
    const settings = this.#settings;
    const ask = (statement: Statement) => this.#session.query(statement);
    const table = ask(tableIsMissing(settings)).pipe(
      concatMap(([row]) =>
        (row as { missing: boolean }).missing ? concat(ask(sql.alone(settings)), ask(sql.createTable(settings))) : EMPTY,
      ),
    );
    const agreed = ask(sql.header(settings)).pipe(
      map(([row]) => (row as { count: number }).count),
      concatMap((theirs) => (theirs === settings.count ? EMPTY : this.#replaceCount(theirs))),
    );
    const joined = concat(table, agreed, ask(sql.addShards(settings)), ask(sql.join(settings)), ask(sql.changed(settings)));
    const transaction = concat(ask({ text: 'BEGIN' }), joined, ask({ text: 'COMMIT' })).pipe(
      catchError((error: unknown) =>
        concat(
          ask({ text: 'ROLLBACK' }).pipe(catchError(() => EMPTY)),
          throwError(() => error),
        ),
      ),
    );
    // A promise, which nobody can let go of half-way: the transaction would stay open, and keep everybody else from joining.
    return defer(() => (this.#joining = lastValueFrom(transaction, { defaultValue: undefined }))).pipe(ignoreElements());
  }

  /** Ends the membership, if need be after it has begun. Locks outlive the transaction that took them, also one that was rolled back. */
  leave(): Observable<never> {
    const settled = defer(() => this.#joining.catch(() => undefined));
    return concat(
      silent(settled),
      silent(this.#session.query(sql.leave(this.#settings))),
      silent(this.#session.query(sql.changed(this.#settings))),
    );
  }

  /** Emits what it got of what is wanted; errors, and holds none of it, if it was refused, or a row that it needs is missing. */
  take(wanted: readonly number[]): Observable<Held> {
    if (wanted.length === 0) return EMPTY;
    const unlock = (shards: readonly number[]) =>
      shards.length === 0 ? EMPTY : silent(this.#session.query(sql.unlock(this.#settings, shards)));
    const begin = (locked: readonly number[]): Observable<Held> =>
      this.#session.query(sql.begin(this.#settings, locked)).pipe(
        concatMap((rows) => {
          const begun = (rows as readonly { shard: number; term: string }[]).map(({ shard, term }) => ({ shard, term: Number(term) }));
          const rest = locked.filter((shard) => !begun.some((held) => held.shard === shard));
          return concat(this.#expectRows(rest), unlock(rest), begun);
        }),
        catchError((error: unknown) =>
          concat(
            unlock(locked),
            throwError(() => error),
          ),
        ),
      );
    return this.#ask(sql.lock(this.#settings, wanted)).pipe(
      map((rows) => (rows as readonly { shard: number; locked: boolean }[]).filter(({ locked }) => locked).map(({ shard }) => shard)),
      concatMap((locked) => (locked.length === 0 ? EMPTY : begin(locked))),
    );
  }

  free(shards: readonly number[]): Observable<never> {
    return concat(
      silent(this.#session.query(sql.unlock(this.#settings, shards))),
      silent(this.#session.query(sql.changed(this.#settings))),
    );
  }

  /** Errors if these got no term because a row is missing, which only who joins makes again, and not because it is locked. */
  #expectRows(shards: readonly number[]): Observable<never> {
    if (shards.length === 0) return EMPTY;
    return this.#session.query(sql.missing(this.#settings, shards)).pipe(
      concatMap((rows) => {
        if (rows.length === 0) return EMPTY;
        const missing = (rows as readonly { shard: number }[]).map(({ shard }) => String(shard));
        return throwError(() => new Error(`Somebody has deleted rows of the shards: ${missing.join(', ')}`));
      }),
    );
  }

  #replaceCount(theirs: number): Observable<unknown> {
    const { name, count } = this.#settings;
    return this.#session
      .query(sql.others(this.#settings))
      .pipe(
        concatMap(([row]) =>
          (row as { present: boolean }).present
            ? throwError(() => new ShardCountError(name, theirs, count))
            : this.#session.query(sql.setCount(this.#settings)),
        ),
      );
  }

  /** Behind a proxy that changes the backend no lock is what it seems: then nothing is held any more. */
  #ask(statement: Statement): Observable<readonly unknown[]> {
    return this.#session.query(statement).pipe(
      this.#check,
      tap({
        error: (error: unknown) => {
          if (error instanceof PoolerError) this.#session.fail(error);
        },
      }),
    );
  }
}

function silent(source: Observable<unknown>): Observable<never> {
  return source.pipe(ignoreElements());
}
