import { KEY, qualified, type Table } from './session-sql.js';
import { identifier } from './identifier.js';
import type { Statement } from './session.js';

/** What is said here means: look again. Its payload is the name of the shards. */
export const CHANGED = 'kreconciler_shards';

/** Locks beside those of the shards: of the members, and of everybody who may still run a shard. Both are shared. */
const MEMBER = -1;
const PRESENT = -2;

/** What is stored beside the shards of a name: the last term that was given, and `count`. */
const HEADER = -1;

interface Shards extends Table {
  readonly name: string;
  readonly count: number;
}

export const listen: Statement = { text: `LISTEN ${identifier(CHANGED)}` };

/**
 * The key of a lock is made of the name and the number together, so that two applications in one database never meet. The seed is
 * not that of leadership.
 */
const HASH = `hashtextextended($1::text || ' ' || shard, 1)`;

const HELD = `SELECT classid, objid, pid FROM pg_locks
  WHERE locktype = 'advisory' AND objsubid = 2 AND granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;

const IS_HELD = 'classid = ((hash >> 32) & 4294967295)::oid AND objid = (hash & 4294967295)::oid';

/** How many locks the server has places for, nominally. */
export const capacity: Statement = {
  text: `SELECT current_setting('max_locks_per_transaction')::bigint
    * (current_setting('max_connections')::bigint + current_setting('max_prepared_transactions')::bigint) AS locks`,
};

/** One row a session that has a lock, and one of nobody's. It is the heartbeat, too. */
export function view({ name, count }: Shards): Statement {
  return {
    text: `SELECT pg_backend_pid() AS pid, held.pid AS session, array_agg(shard) AS shards
      FROM (SELECT shard, ${HASH} AS hash FROM generate_series(${PRESENT}, $2::int - 1) AS shard) AS keys
      LEFT JOIN (${HELD}) AS held ON ${IS_HELD}
      GROUP BY held.pid`,
    values: [name, count],
  };
}

export interface ViewRow {
  /** Nobody, for what is free. */
  readonly session: number | null;
  readonly shards: readonly number[];
}

/** What a row of the {@link view} says. */
export function read({ session, shards }: ViewRow) {
  return { session: String(session), isMember: session !== null && shards.includes(MEMBER), shards: shards.filter((shard) => shard >= 0) };
}

/** Until the end of the transaction nobody else makes the table. Without it, two that do so at once would fail. */
export function alone({ table }: Shards): Statement {
  return { text: `SELECT pg_advisory_xact_lock${KEY} FROM hashtextextended($1, 2) AS hash`, values: [table] };
}

/** Only where it is missing, since it takes a privilege that nobody else needs. */
export function createTable(table: Shards): Statement {
  return {
    text: `CREATE TABLE IF NOT EXISTS ${qualified(table)} (
      name text, shard int, term bigint NOT NULL, count int, PRIMARY KEY (name, shard))`,
  };
}

/**
 * Who joins does so alone, from here to the end of the transaction. The counter goes on where it was, should somebody have deleted
 * its row.
 */
export function header(shards: Shards): Statement {
  return {
    text: `INSERT INTO ${qualified(shards)} AS shards (name, shard, term, count)
      VALUES ($1, ${HEADER}, (SELECT coalesce(max(term), 0) FROM ${qualified(shards)} WHERE name = $1), $2)
      ON CONFLICT (name, shard) DO UPDATE SET name = excluded.name RETURNING count`,
    values: [shards.name, shards.count],
  };
}

/** Whether anybody else may run a shard: a member, or one that was. */
export function others({ name }: Shards): Statement {
  return {
    text: `SELECT EXISTS (SELECT FROM (SELECT ${HASH} AS hash FROM (SELECT ${PRESENT} AS shard) AS present) AS keys
      JOIN (${HELD}) AS held ON ${IS_HELD} WHERE held.pid <> pg_backend_pid()) AS present`,
    values: [name],
  };
}

export function setCount(shards: Shards): Statement {
  return {
    text: `UPDATE ${qualified(shards)} SET count = $2 WHERE name = $1 AND shard = ${HEADER}`,
    values: [shards.name, shards.count],
  };
}

export function addShards(shards: Shards): Statement {
  return {
    text: `INSERT INTO ${qualified(shards)} (name, shard, term)
      SELECT $1, shard, 0 FROM generate_series(0, $2::int - 1) AS shard ON CONFLICT DO NOTHING`,
    values: [shards.name, shards.count],
  };
}

/** Locks last as long as the session, and are had when the transaction that wrote `count` commits. */
export function join({ name }: Shards): Statement {
  return {
    text: `SELECT pg_advisory_lock_shared${KEY} FROM (
      SELECT ${HASH} AS hash FROM unnest(ARRAY[${MEMBER}, ${PRESENT}]) AS shard) AS keys`,
    values: [name],
  };
}

/** Ends the membership, not the presence: what it still runs is run by this `count`. */
export function leave({ name }: Shards): Statement {
  return {
    text: `SELECT pg_advisory_unlock_shared${KEY} FROM (SELECT ${HASH} AS hash FROM (SELECT ${MEMBER} AS shard) AS member) AS keys`,
    values: [name],
  };
}

export function changed({ name }: Shards): Statement {
  return { text: 'SELECT pg_notify($1, $2)', values: [CHANGED, name] };
}

/** Each lock once: they count, and would have to be given back as often. */
export function lock({ name }: Shards, wanted: readonly number[]): Statement {
  return {
    text: `SELECT pg_backend_pid() AS pid, shard, pg_try_advisory_lock${KEY} AS locked
      FROM (SELECT shard, ${HASH} AS hash FROM unnest($2::int[]) AS shard) AS keys`,
    values: [name, wanted],
  };
}

/**
 * Raises the counter, and gives the new term to each shard that is locked; but not to one whose row somebody is reading for a
 * fenced write. Waiting for that one would hold up all the others, and end in a timeout with locks and no term.
 */
export function begin(shards: Shards, locked: readonly number[]): Statement {
  const table = qualified(shards);
  return {
    text: `WITH free AS (SELECT shard FROM ${table} WHERE name = $1 AND shard = ANY($2::int[]) FOR UPDATE SKIP LOCKED),
      counter AS (
        UPDATE ${table} SET term = term + 1 WHERE name = $1 AND shard = ${HEADER} AND EXISTS (SELECT FROM free) RETURNING term)
      UPDATE ${table} AS shards SET term = counter.term FROM counter, free
      WHERE shards.name = $1 AND shards.shard = free.shard RETURNING shards.shard, shards.term`,
    values: [shards.name, locked],
  };
}

/** Which of the rows are missing that a new term of these shards needs. */
export function missing(shards: Shards, wanted: readonly number[]): Statement {
  return {
    text: `SELECT shard FROM unnest($2::int[] || ${HEADER}) AS shard
      WHERE NOT EXISTS (SELECT FROM ${qualified(shards)} AS shards WHERE shards.name = $1 AND shards.shard = shard.shard)`,
    values: [shards.name, wanted],
  };
}

export function unlock({ name }: Shards, shards: readonly number[]): Statement {
  return {
    text: `SELECT pg_advisory_unlock${KEY} FROM (SELECT ${HASH} AS hash FROM unnest($2::int[]) AS shard) AS keys`,
    values: [name, shards],
  };
}
