import { concatMap, from, map, mergeMap, type Observable, throwError } from 'rxjs';
import { ShardCountError } from '../shards/shard-count-error.js';
import { decoded, encoded, type KeyRange, withPrefix } from './bytes.js';
import { asKey } from './leadership-config.js';
import type { KeyValue, RangeAnswer, TxnAnswer } from './messages.js';
import type { Session } from './session.js';
import type { ShardsSettings } from './shards-config.js';

/** How many shards one transaction takes: etcd allows 128 operations in one. */
const BATCH = 100;

/** Who holds a shard, since which term. */
export interface Owner {
  readonly shard: number;
  readonly session: string;
  /** The revision that created the key. */
  readonly term: number;
}

/** All that etcd knows of the shards of one name, of one moment. */
export interface View {
  readonly count: KeyValue | undefined;
  readonly members: readonly string[];
  readonly owners: readonly Owner[];
}

/**
 * The keys of the shards of one name, and what is done with them: `count`, `members/SESSION` and `owners/SHARD`. Those of
 * members and owners go with their lease. Each of these requests may be carried out twice.
 */
export class ShardKeys {
  readonly range: KeyRange;
  readonly #base: string;
  readonly #count: string;
  readonly #members: KeyRange;
  readonly #owners: KeyRange;

  constructor(
    readonly session: Session,
    readonly settings: ShardsSettings,
  ) {
    this.#base = `${settings.prefix}shards/${asKey(settings.name)}/`;
    this.#count = encoded(`${this.#base}count`);
    this.#members = withPrefix(`${this.#base}members/`);
    this.#owners = withPrefix(`${this.#base}owners/`);
    this.range = withPrefix(this.#base);
  }

  view(): Observable<View> {
    return this.session.gateway.ask<RangeAnswer>('kv/range', this.range).pipe(map(({ kvs = [] }) => this.#viewed(kvs)));
  }

  /**
   * Makes the session a member, and writes `count` beside it in the same transaction (H8). False if the view is out of date; an
   * error if the members have another `count`, or somebody who was one still runs shards of it.
   */
  join({ count, members, owners }: View): Observable<boolean> {
    const { name, count: ours } = this.settings;
    const theirs = decoded(count?.value);
    const isSame = count !== undefined && theirs === String(ours);
    if (!isSame && members.length > 0) return throwError(() => new ShardCountError(name, theirs, ours));
    if (!isSame && owners.length > 0) {
      return throwError(() => new Error(`Some of ${theirs} shards are being let go of still: there are to be ${ours}`));
    }
    const none = (range: KeyRange) => ({ ...range, target: 'CREATE', create_revision: 0 });
    const unchanged = { key: this.#count, target: 'MOD', mod_revision: count?.mod_revision ?? 0 };
    return this.#transact({
      compare: isSame ? [unchanged] : [unchanged, none(this.#members), none(this.#owners)],
      success: [
        ...(isSame ? [] : [{ request_put: { key: this.#count, value: encoded(String(ours)) } }]),
        { request_put: { key: this.#member, lease: this.session.lease } },
      ],
    }).pipe(map(({ succeeded }) => succeeded === true));
  }

  /** Ends the membership. Emits what the session holds now, and it can take nothing more. */
  leave(): Observable<readonly Owner[]> {
    return this.#transact({ success: [{ request_delete_range: { key: this.#member } }, { request_range: this.#owners }] }).pipe(
      map(({ responses }) => this.own(this.#viewed(responses?.[1]?.response_range?.kvs ?? []))),
    );
  }

  /** Those of a view that the session holds. */
  own({ owners }: View): readonly Owner[] {
    return owners.filter(({ session }) => session === this.session.lease);
  }

  /** Creates the keys of those that are not there, and emits which those were. An error if the session is no member. */
  take(shards: readonly number[]): Observable<Owner> {
    const batches = Array.from({ length: Math.ceil(shards.length / BATCH) }, (_, i) => shards.slice(i * BATCH, (i + 1) * BATCH));
    return from(batches).pipe(
      concatMap((batch) =>
        this.#transact({
          compare: [{ key: this.#member, target: 'CREATE', result: 'GREATER', create_revision: 0 }],
          success: batch.map((shard) => ({ request_txn: this.#takeOne(this.#owner(shard)) })),
        }).pipe(
          mergeMap(({ header, succeeded, responses = [] }) => {
            if (succeeded !== true) return throwError(() => new Error('Somebody has ended the membership'));
            const taken = batch.filter((_, i) => responses[i]?.response_txn?.succeeded === true);
            return taken.map((shard) => ({ shard, session: this.session.lease, term: Number(header.revision) }));
          }),
        ),
      ),
    );
  }

  /** Deletes the key of a shard, if it is still the one of that term. */
  free({ shard, term }: Pick<Owner, 'shard' | 'term'>): Observable<unknown> {
    const key = this.#owner(shard);
    return this.#transact({
      compare: [{ key, target: 'CREATE', create_revision: term }],
      success: [{ request_delete_range: { key } }],
    });
  }

  #takeOne(key: string) {
    return {
      compare: [{ key, target: 'CREATE', create_revision: 0 }],
      success: [{ request_put: { key, lease: this.session.lease } }],
    };
  }

  #transact(transaction: object): Observable<TxnAnswer> {
    return this.session.gateway.ask<TxnAnswer>('kv/txn', transaction);
  }

  get #member(): string {
    return encoded(`${this.#base}members/${this.session.lease}`);
  }

  #owner(shard: number): string {
    return encoded(`${this.#base}owners/${shard}`);
  }

  #viewed(kvs: readonly KeyValue[]): View {
    const under = (directory: string) =>
      kvs.flatMap((kv) => {
        const key = decoded(kv.key).slice(this.#base.length);
        return key.startsWith(directory) ? [{ kv, rest: key.slice(directory.length) }] : [];
      });
    return {
      count: under('count')[0]?.kv,
      members: under('members/').map(({ rest }) => rest),
      owners: under('owners/').map(({ kv, rest }) => ({ shard: Number(rest), session: kv.lease ?? '', term: Number(kv.create_revision) })),
    };
  }
}
