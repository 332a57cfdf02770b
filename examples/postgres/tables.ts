import type pg from 'pg';
import { TerminalError } from 'kreconciler';
import type { Processes, Services } from '../supervisor/ports.js';
import type { Status } from '../supervisor/reconciler.js';
import { parseService } from '../supervisor/service.js';

/** What the replicas compete for. */
export const LEADERSHIP = 'services';

/** The rows of `services`, whose commands run in `folder`. */
export function services(pool: pg.Pool, folder: string): Services & { ids(): Promise<readonly string[]> } {
  return {
    ids: async () => (await pool.query<{ name: string }>('SELECT name FROM services')).rows.map(({ name }) => name),
    read: async (id) => {
      const { rows } = await pool.query<{ spec: string }>('SELECT spec::text FROM services WHERE name = $1', [id]);
      if (rows[0] === undefined) return undefined;
      try {
        return parseService(rows[0].spec, folder);
      } catch (error) {
        throw new TerminalError((error as Error).message, { cause: error });
      }
    },
  };
}

/**
 * Writes how a service stands, unless another replica has begun to lead: then there is no row of this term, and so nothing to
 * insert. The row is locked until the write is done, and the next leader waits for it to begin its term.
 */
export async function report(pool: pg.Pool, replica: string, term: number, { id, desired, running }: Status): Promise<void> {
  const { rowCount } = await pool.query(
    `WITH lead AS (SELECT FROM kreconciler_terms WHERE name = $1 AND term = $2 FOR SHARE)
     INSERT INTO status SELECT $3, $4, $5, $2, $6 WHERE EXISTS (SELECT FROM lead)
     ON CONFLICT (name) DO UPDATE SET desired = $4, running = $5, term = $2, replica = $6`,
    [LEADERSHIP, term, id, desired, running, replica],
  );
  if (rowCount === 0) throw deposed(term);
}

/**
 * Processes that ask before they are started or stopped whether the term goes on. The operating system takes part in no
 * transaction, so a replica that is stopped between the answer and the deed can still do that one deed. The next run of the
 * new leader finds what it did, and undoes it.
 */
export function fenced(pool: pg.Pool, term: number, processes: Processes): Processes {
  const check = async (): Promise<void> => {
    const { rowCount } = await pool.query('SELECT FROM kreconciler_terms WHERE name = $1 AND term = $2', [LEADERSHIP, term]);
    if (rowCount === 0) throw deposed(term);
  };
  return {
    list: (id) => processes.list(id),
    start: async (id, replica, service, signal) => {
      await check();
      await processes.start(id, replica, service, signal);
    },
    stop: async (process, signal) => {
      await check();
      await processes.stop(process, signal);
    },
  };
}

function deposed(term: number): Error {
  return new TerminalError(`Term ${String(term)} is over: another replica leads`);
}
