import { concat, defer, EMPTY, expand, mergeMap, type Observable, repeat, tap } from 'rxjs';
import { reconnecting } from '../reconnecting.js';
import { decoded, following, type KeyRange, withPrefix } from './bytes.js';
import { Gateway } from './gateway.js';
import { type KeysConfig, keysSettings } from './keys-config.js';
import type { Header, RangeAnswer } from './messages.js';
import { watch } from './watch.js';

/** How many keys one answer holds. */
const PAGE = 1_000;

/**
 * Emits the id of every key that begins with `prefix`, and from then on that of each one that is written or deleted. The id is
 * what comes after the prefix.
 *
 * It lists, and watches from the revision of the list. Whenever something may have been missed, because a connection was lost,
 * etcd did not answer, has compacted the revision or was set back to an older state, that is logged, and it lists again with
 * backoff; what has gone since the list before is emitted, too. A watch that has gone silent without a word is found out after
 * `heartbeat` ms, and loses nothing.
 *
 * A key that is the prefix and nothing more is no id: it is logged and passed on, for the loop to reject and count it.
 * Never completes, never errors. Unsubscribing ends what is under way.
 *
 * @throws TypeError if a field is out of its range
 * @example
 * const wanted$ = keys({ url: 'http://127.0.0.1:2379', prefix: 'services/' });
 * await new Controller({}, reconciler, { wanted: wanted$ }).run(signal);
 */
export function keys(config: KeysConfig): Observable<string> {
  const settings = keysSettings(config);
  const { prefix, logger } = settings;
  const range = withPrefix(prefix);
  const idOf = (key: string): string => {
    const id = decoded(key).slice(prefix.length);
    if (id === '') logger.warn('A key of etcd holds no id', { prefix });
    return id;
  };
  return defer(() => {
    const gateway = new Gateway(settings);
    /** What has been emitted and, as far as is known, still there. */
    const known = new Set<string>();
    const attempt = (succeeded: () => void): Observable<string> => {
      const listed = new Set<string>();
      let first: Header | undefined;
      const list = pages(gateway, range).pipe(
        mergeMap(({ header, kvs = [] }) => {
          first ??= header;
          return kvs.map(({ key }) => idOf(key));
        }),
        tap((id) => {
          listed.add(id);
          known.add(id);
        }),
      );
      const gone = defer(() => {
        succeeded();
        return [...known].filter((id) => !listed.has(id) && known.delete(id));
      });
      const changes = defer(() => {
        let next = revisionOf(first) + 1;
        return defer(() => watch(gateway, { ...settings, range, from: next, cluster: first?.cluster_id })).pipe(
          repeat(),
          mergeMap(({ events = [] }) =>
            events.map(({ type, kv }) => {
              next = Number(kv.mod_revision) + 1;
              const id = idOf(kv.key);
              if (type === 'DELETE') known.delete(id);
              else known.add(id);
              return id;
            }),
          ),
        );
      });
      return concat(list, gone, changes);
    };
    return reconnecting(attempt, { ...settings, what: `Watching the keys of etcd that begin with \`${prefix}\`` });
  });
}

/** All keys of one moment, however many answers they take. */
function pages(gateway: Gateway, range: KeyRange): Observable<RangeAnswer> {
  const page = (key: string, revision: number): Observable<RangeAnswer> =>
    gateway.ask('kv/range', { ...range, key, revision, limit: PAGE, keys_only: true });
  let revision = 0;
  return page(range.key, 0).pipe(
    expand(({ header, kvs = [], more }) => {
      if (revision === 0) revision = revisionOf(header);
      const last = kvs.at(-1);
      return more === true && last !== undefined ? page(following(last.key), revision) : EMPTY;
    }),
  );
}

function revisionOf(header: Header | undefined): number {
  return Number(header?.revision);
}
