import { type Pool, escapeIdentifier } from 'pg';
import { defer, type Observable, type ObservableInput } from 'rxjs';
import { polled } from './polled.js';

/** Which rows are looked at, and how. */
export interface UpdatedRowsConfig {
  /** Each query stands for itself, so that a pooler may be in between. Give the pool a `query_timeout`, or a query that hangs keeps a client. */
  readonly pool: Pool;
  /** It has a column `id`, and one `updated_at` with an index, which each change sets to `now()`. */
  readonly table: string;
  /** Lists all ids there are, those of deleted rows included, for these do not come otherwise. */
  readonly list: () => ObservableInput<string | readonly string[]>;
  /** How long after one look the next one comes, in ms. Default 1_000. */
  readonly every?: number;
  /** How far each look goes back, in ms: longer than any transaction that writes takes, and clocks differ. Default 60_000. */
  readonly overlap?: number;
  /** How long a query may take, in ms. Default 10_000. */
  readonly silence?: number;
}

/**
 * Emits the ids of rows that were changed, after a list. `updated_at` is when a transaction began, and its rows are visible only
 * once it is committed: so each look goes back by `overlap`, and passes on what it has not passed on before.
 *
 * A failure is followed by a new list, with backoff. Never completes, never errors.
 */
export function updatedRows({
  pool,
  table,
  list,
  every = 1_000,
  overlap = 60_000,
  silence = 10_000,
}: UpdatedRowsConfig): Observable<string> {
  return defer(() => {
    let since = '';
    let seen = new Map<string, string>();
    const now = `clock_timestamp() - ${String(overlap)} * interval '1 ms'`;
    const begin = async (): Promise<void> => {
      const { rows } = await pool.query<{ readonly since: string }>(`SELECT (${now})::text AS since`);
      since = rows[0]?.since ?? '';
      seen = new Map();
    };
    const look = async () => {
      const { rows } = await pool.query<{ readonly next: string; readonly id: string | null; readonly at: string }>(
        `SELECT look.next::text, t.id::text, t.updated_at::text AS at
         FROM (SELECT ${now} AS next) look LEFT JOIN ${escapeIdentifier(table)} t ON t.updated_at > $1::timestamptz`,
        [since],
      );
      since = rows[0]?.next ?? since;
      const found = rows.flatMap(({ id, at }) => (id === null ? [] : [[id, at] as const]));
      const ids = found.filter(([id, at]) => seen.get(id) !== at).map(([id]) => id);
      seen = new Map(found);
      return { ids, isMore: false };
    };
    return polled(`The rows of ${table}`, { begin, list, look, every, silence });
  });
}
