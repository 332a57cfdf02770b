import type { Pool } from 'pg';
import { defer, type Observable, type ObservableInput } from 'rxjs';
import { polled } from './polled.js';

/** How an outbox is read. */
export interface OutboxConfig {
  /** Each query stands for itself, so that a pooler may be in between. Give the pool a `query_timeout`, or a query that hangs keeps a client. */
  readonly pool: Pool;
  /** Lists all ids there are. */
  readonly list: () => ObservableInput<string | readonly string[]>;
  /** How long after one look the next one comes, in ms. Default 1_000. */
  readonly every?: number;
  /** How many rows are taken at a look; if there are more, the next one comes at once. Default 1_000. */
  readonly batch?: number;
  /** How long rows are kept, in ms: after a longer sleep it lists again. Default 3_600_000. */
  readonly keep?: number;
  /** How long a query may take, in ms. Default 10_000. */
  readonly silence?: number;
}

/** The table, into which a transaction that changes an id writes that id: `INSERT INTO outbox (id) VALUES ($1)`. */
export const OUTBOX = `
  CREATE TABLE IF NOT EXISTS outbox (
    xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
    sequence bigint GENERATED ALWAYS AS IDENTITY,
    id text NOT NULL,
    at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (xid, sequence)
  )`;

/** All transactions before the oldest that is still open: what they wrote is visible, or never will be. */
const HORIZON = 'pg_snapshot_xmin(pg_current_snapshot())';

/**
 * Emits the ids of an outbox's rows, after a list. It goes by transactions, and only as far as none is open: rows do not become
 * visible in the order of their numbers, and whoever goes by the highest number seen passes over those that are committed late.
 *
 * A failure, or a sleep longer than `keep`, is followed by a new list, with backoff. Never completes, never errors.
 */
export function outbox({ pool, list, every = 1_000, batch = 1_000, keep = 3_600_000, silence = 10_000 }: OutboxConfig): Observable<string> {
  return defer(() => {
    let after = { xid: '0', sequence: '0' };
    let lookedAt = 0;
    const begin = async (): Promise<void> => {
      const { rows } = await pool.query<{ readonly xid: string }>(`SELECT ${HORIZON}::text AS xid`);
      after = { xid: rows[0]?.xid ?? '0', sequence: '0' };
      lookedAt = performance.now();
    };
    const look = async () => {
      if (performance.now() - lookedAt > keep) throw new Error(`not looked at for more than ${String(keep)} ms`);
      lookedAt = performance.now();
      const { rows } = await pool.query<typeof after & { readonly id: string }>(
        `SELECT o.xid::text, o.sequence::text, o.id FROM outbox o
         WHERE (o.xid, o.sequence) > ($1::xid8, $2::bigint) AND o.xid < ${HORIZON} ORDER BY o.xid, o.sequence LIMIT $3`,
        [after.xid, after.sequence, batch],
      );
      after = rows.at(-1) ?? after;
      return { ids: rows.map(({ id }) => id), isMore: rows.length === batch };
    };
    return polled('The outbox', { begin, list, look, every, silence });
  });
}
