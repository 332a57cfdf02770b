import { identifier } from './identifier.js';
import type { Statement } from './session.js';

/** A heartbeat. It names the backend, as all that depends on the lock does: the lock belongs to that process. */
export const probe: Statement = { text: 'SELECT pg_backend_pid() AS pid' };

/** 64 bits of a name, in two halves: the space of pairs is not the one that migration tools and applications lock in. */
export const KEY = '((hash >> 32)::int, ((hash << 32) >> 32)::int)';

export interface Times {
  readonly heartbeat: number;
  readonly deadline: number;
  readonly retry: number;
}

/**
 * Makes PostgreSQL end this session when it hears nothing for so long that its client must have given up, within a transaction,
 * too, for which it has a setting of its own. It ends a statement that has taken half of `deadline`, as one that waits for a lock:
 * who hears that it failed goes on, and who hears nothing must give up the session and all that it holds. (`lock_timeout` would not
 * do, which counts for each lock anew.) A setting that an old version does not have is left out. What is committed lasts: a term that a crash
 * takes back would be given twice.
 */
export function prepare(times: Times): Statement {
  return {
    text: `SELECT pg_backend_pid() AS pid, count(set_config(name, CASE name WHEN 'statement_timeout' THEN $1 WHEN 'synchronous_commit' THEN 'on' ELSE $2 END, false))
      FROM pg_settings WHERE name IN ('statement_timeout', 'idle_session_timeout', 'idle_in_transaction_session_timeout')
        OR (name = 'synchronous_commit' AND setting IN ('off', 'local'))`,
    values: [String(Math.ceil(times.deadline / 2)), String(Math.ceil(silence(times)))],
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

/** How long a client may believe in its session: it must know before PostgreSQL ends it, and lets another have the lock. */
export function patience(times: Times): number {
  return silence(times) - times.deadline / 4;
}

/** Where terms are kept. */
export interface Table {
  readonly table: string;
  readonly schema: string | undefined;
}

export function tableIsMissing(table: Table): Statement {
  return { text: 'SELECT to_regclass($1) IS NULL AS missing', values: [qualified(table)] };
}

export function qualified({ schema, table }: Table): string {
  return schema === undefined ? identifier(table) : `${identifier(schema)}.${identifier(table)}`;
}
