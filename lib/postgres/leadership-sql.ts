import { identifier } from './identifier.js';
import type { Statement } from './session.js';

/** Whoever steps down says so on this channel, so that the next one need not wait for its next try. */
export const STEPPED_DOWN = 'kreconciler_leadership';

export const listen: Statement = { text: `LISTEN ${identifier(STEPPED_DOWN)}` };

/** A heartbeat. It names the backend, as all that depends on the lock does: the lock belongs to that process. */
export const probe: Statement = { text: 'SELECT pg_backend_pid() AS pid' };

/** 64 bits of the name, in two halves: the space of pairs is not the one that migration tools and applications lock in. */
const KEY = '((hash >> 32)::int, ((hash << 32) >> 32)::int)';

export function tryLock(name: string): Statement {
  return {
    text: `SELECT pg_try_advisory_lock${KEY} AS held, pg_backend_pid() AS pid FROM hashtextextended($1, 0) AS hash`,
    values: [name],
  };
}

/** A notification is sent when the statement commits, and the lock is free by then. */
export function stepDown(name: string): Statement {
  return {
    text: `SELECT pg_advisory_unlock${KEY}, pg_notify($2, $1) FROM hashtextextended($1, 0) AS hash`,
    values: [name, STEPPED_DOWN],
  };
}

interface Times {
  readonly heartbeat: number;
  readonly deadline: number;
  readonly retry: number;
}

/**
 * Makes PostgreSQL end this session when it hears nothing for so long that its client must have given up, and a statement
 * when nobody waits for it any longer. A setting that an old version does not have is left out.
 */
export function prepare(times: Times): Statement {
  return {
    text: `SELECT pg_backend_pid() AS pid, count(set_config(name, CASE name WHEN 'statement_timeout' THEN $1 ELSE $2 END, false))
      FROM pg_settings WHERE name IN ('statement_timeout', 'idle_session_timeout')`,
    values: [String(Math.ceil(times.deadline)), String(Math.ceil(silence(times)))],
  };
}

/**
 * How long a session may be silent, in ms. The client sends something every `heartbeat`, or `1.2 * retry` where it stands
 * by, and gives up `deadline` later; PostgreSQL's clock started up to another `deadline` before, at the last answer that it
 * sent.
 */
function silence({ heartbeat, deadline, retry }: Times): number {
  return Math.max(heartbeat, 1.2 * retry) + 2 * deadline;
}

interface Table {
  readonly table: string;
  readonly schema: string | undefined;
}

export function tableIsMissing(table: Table): Statement {
  return { text: 'SELECT to_regclass($1) IS NULL AS missing', values: [qualified(table)] };
}

/** Only where it is missing, since it takes a privilege that nobody else needs. */
export function createTable(table: Table): Statement {
  return { text: `CREATE TABLE IF NOT EXISTS ${qualified(table)} (name text PRIMARY KEY, term bigint NOT NULL)` };
}

/** One statement, so one transaction, begun when the lock is held. It waits for the writes that check the term just now. */
export function nextTerm(table: Table & { readonly name: string }): Statement {
  return {
    text: `INSERT INTO ${qualified(table)} AS terms (name, term) VALUES ($1, 1)
      ON CONFLICT (name) DO UPDATE SET term = terms.term + 1 RETURNING term, pg_backend_pid() AS pid`,
    values: [table.name],
  };
}

function qualified({ schema, table }: Table): string {
  return schema === undefined ? identifier(table) : `${identifier(schema)}.${identifier(table)}`;
}
