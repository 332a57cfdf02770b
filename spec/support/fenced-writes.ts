/**
 * The rows that replicas keep right, `actual` as `desired`, and the log of all writes that got past the fence. Afterwards SQL says
 * whether two replicas wrote for one shard at once.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Pool } from 'pg';

export async function createRows(pool: Pool, rows: number): Promise<void> {
  await pool.query(`
    CREATE TABLE desired (id text PRIMARY KEY, value int NOT NULL);
    CREATE TABLE actual (id text PRIMARY KEY, value int NOT NULL);
    CREATE TABLE fences (shard int PRIMARY KEY, term bigint NOT NULL);
    CREATE TABLE writes (
      seq bigserial PRIMARY KEY, id text NOT NULL, shard int NOT NULL, term bigint NOT NULL, replica text NOT NULL,
      "from" timestamptz NOT NULL, "to" timestamptz NOT NULL);
    CREATE FUNCTION changed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_notify('desired', NEW.id); RETURN NULL; END $$;
    INSERT INTO desired SELECT 'row ' || i, 0 FROM generate_series(1, ${rows}) AS i;
    CREATE TRIGGER changed AFTER UPDATE ON desired FOR EACH ROW EXECUTE FUNCTION changed();`);
}

/** Changes one row after the other, one every `every` ms, until `over`. Resolves with how many it changed. */
export async function changeRows(pool: Pool, { rows, every, over }: { rows: number; every: number; over: AbortSignal }): Promise<number> {
  let changes = 0;
  while (!over.aborted) {
    await pool
      .query('UPDATE desired SET value = value + 1 WHERE id = $1', [`row ${1 + Math.floor(rows * Math.random())}`])
      .then(() => changes++)
      .catch(() => pause(50));
    await pause(every);
  }
  return changes;
}

/** The fence: the highest term that the table has seen of a shard. Who comes with an older one is refused. */
const FENCE = `
  INSERT INTO fences AS fence VALUES ($1, $2)
  ON CONFLICT (shard) DO UPDATE SET term = excluded.term WHERE fence.term <= excluded.term RETURNING shard`;

/** For a shard, a term and an id: the value that is wanted, and the time. No row: refused. */
export const READ = `
  WITH fence AS (${FENCE}) SELECT value, clock_timestamp()::text AS from FROM desired WHERE id = $3 AND EXISTS (SELECT FROM fence)`;

/** For these, the value, the replica and the time of the read. No row: refused. */
export const WRITE = `
  WITH fence AS (${FENCE}),
  wrote AS (
    INSERT INTO actual SELECT $3, $4 WHERE EXISTS (SELECT FROM fence)
    ON CONFLICT (id) DO UPDATE SET value = excluded.value RETURNING id)
  INSERT INTO writes (id, shard, term, replica, "from", "to") SELECT id, $1, $2, $5, $6::timestamptz, clock_timestamp() FROM wrote`;

/** The ids of the rows that are not yet as they are wanted. */
export async function drifted(pool: Pool): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>(
    'SELECT id FROM desired LEFT JOIN actual USING (id) WHERE actual.value IS DISTINCT FROM desired.value',
  );
  return rows.map(({ id }) => id);
}

const FAULTS = {
  'more than one replica wrote in a term of a shard':
    'SELECT shard, term FROM writes GROUP BY shard, term HAVING count(DISTINCT replica) > 1',
  'the writes of a holding began before those of the one before had ended': `
    SELECT * FROM (
      SELECT shard, term, min("from") AS since, lag(max("to")) OVER (PARTITION BY shard ORDER BY term) AS before
      FROM writes GROUP BY shard, term) AS holdings
    WHERE before > since`,
  'the term of an id fell':
    'SELECT * FROM (SELECT *, lag(term) OVER (PARTITION BY id ORDER BY seq) AS before FROM writes) AS w WHERE before > term',
  'two runs of an id at once':
    'SELECT * FROM (SELECT *, lag("to") OVER (PARTITION BY id ORDER BY seq) AS before FROM writes) AS w WHERE before > "from"',
  'never written': 'SELECT id FROM desired WHERE id NOT IN (SELECT id FROM writes)',
};

/** What no two owners of a shard may have done (H1), and what must have been done (H9), by all writes so far. */
export async function faultsOfWrites(pool: Pool): Promise<object[]> {
  const faults: object[] = [];
  for (const [fault, sql] of Object.entries(FAULTS)) {
    const { rows } = await pool.query<object>(sql);
    faults.push(...rows.map((row) => ({ fault, ...row })));
  }
  return faults;
}
