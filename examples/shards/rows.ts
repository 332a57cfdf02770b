import type pg from 'pg';
import { TerminalError } from 'kreconciler';

/** What the replicas share. */
export const NAME = 'rows';
/** By a notification on this channel, PostgreSQL says which row has changed. */
export const CHANNEL = 'rows';

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS desired (id text PRIMARY KEY, value int NOT NULL);
  CREATE TABLE IF NOT EXISTS actual (id text PRIMARY KEY, value int NOT NULL, shard int NOT NULL, term bigint NOT NULL, replica text NOT NULL);
  CREATE OR REPLACE FUNCTION row_changed() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM pg_notify('${CHANNEL}', NEW.id);
    RETURN NULL;
  END $$;
  CREATE OR REPLACE TRIGGER row_changed AFTER UPDATE ON desired FOR EACH ROW EXECUTE FUNCTION row_changed();
`;

/** Makes the tables, and rows that are wanted and not there yet: events tell of changes only, so a list has to find these. */
export async function setUp(client: pg.ClientBase, rows: number): Promise<void> {
  await client.query(SCHEMA);
  await client.query(`INSERT INTO desired SELECT 'order-' || i, 0 FROM generate_series(1, $1) AS i ON CONFLICT DO NOTHING`, [rows]);
}

/** Wants something else of some rows. */
export async function change(client: pg.ClientBase, rows: number, howMany: number): Promise<void> {
  const ids = Array.from({ length: howMany }, () => `order-${1 + Math.floor(Math.random() * rows)}`);
  await client.query('UPDATE desired SET value = value + 1 WHERE id = ANY($1)', [ids]);
}

/** The rows that are not as they are wanted. */
export async function drifted(pool: pg.Pool): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>(
    'SELECT id FROM desired LEFT JOIN actual USING (id) WHERE actual.value IS DISTINCT FROM desired.value',
  );
  return rows.map(({ id }) => id);
}

export async function countDrifted(client: pg.ClientBase): Promise<number> {
  const { rows } = await client.query<{ count: number }>(
    'SELECT count(*)::int FROM desired LEFT JOIN actual USING (id) WHERE actual.value IS DISTINCT FROM desired.value',
  );
  return rows[0]?.count ?? 0;
}

/** Who writes, and by which right. */
export interface Writer {
  readonly replica: string;
  readonly shard: number;
  readonly term: number;
}

/**
 * Makes a row as it is wanted, unless another replica owns its shard by now: then there is no row of this term to lock, and
 * nothing to insert. While it is locked nobody else can take the shard.
 */
export async function keep(pool: pg.Pool, id: string, { replica, shard, term }: Writer): Promise<void> {
  const { rows } = await pool.query<{ isOwned: boolean }>(
    `WITH owner AS (SELECT FROM kreconciler_shards WHERE name = '${NAME}' AND shard = $2 AND term = $3 FOR SHARE),
     kept AS (
       INSERT INTO actual SELECT id, value, $2, $3, $4 FROM desired WHERE id = $1 AND EXISTS (SELECT FROM owner)
       ON CONFLICT (id) DO UPDATE SET value = excluded.value, shard = excluded.shard, term = excluded.term, replica = excluded.replica)
     SELECT EXISTS (SELECT FROM owner) AS "isOwned"`,
    [id, shard, term, replica],
  );
  if (rows[0]?.isOwned !== true) throw new TerminalError(`Term ${term} of shard ${shard} is over: another replica owns it`);
}
