import { identifier } from './identifier.js';
import type { Statement } from './session.js';
import { KEY, qualified, type Table } from './session-sql.js';

/** Whoever steps down says so on this channel, so that the next one need not wait for its next try. */
export const STEPPED_DOWN = 'kreconciler_leadership';

export const listen: Statement = { text: `LISTEN ${identifier(STEPPED_DOWN)}` };

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
