import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Database, database } from '../../../examples/postgres/database.js';
import { type FencedReplica, fencedReplica, isEven, ownedBy, refusedTo } from '../../support/fenced-replicas.js';
import { changeRows, createRows, drifted, faultsOfWrites } from '../../support/fenced-writes.js';
import { until } from '../../support/until.js';

const [COUNT, ROWS] = [8, 200];
/** What a busy machine may take for what takes a quiet one some seconds: the formulas are checked in `spec/integration`. */
const PATIENCE = 60_000;

let server: Database;
let pool: pg.Pool;
let over: AbortController;
const replicas: FencedReplica[] = [];

beforeEach(async () => {
  server = await database();
  pool = new pg.Pool({ connectionString: server.url });
  pool.on('error', () => undefined);
  over = new AbortController();
  await createRows(pool, ROWS);
});
afterEach(async () => {
  over.abort();
  for (const { kill, ended } of replicas.splice(0)) {
    kill('SIGKILL');
    await ended;
  }
  await pool.end();
  await server.stop();
});

function start(): FencedReplica {
  const shards = { count: COUNT, heartbeat: 100, retry: 100, settle: 300, deadline: 1_000 };
  const started = fencedReplica(`r${replicas.length}`, server.url, { engine: 'postgres', shards, takes: 400 });
  replicas.push(started);
  return started;
}

const evenly = (...by: readonly FencedReplica[]) => until(`${by.length} replicas own all, and evenly`, () => isEven(by, COUNT), PATIENCE);

/** Resolves once it has written some of what all changed at once, so that it has more in hand. */
async function busy({ name }: FencedReplica): Promise<void> {
  const { rows } = await pool.query<{ seq: string }>('SELECT coalesce(max(seq), 0) AS seq FROM writes');
  await pool.query('UPDATE desired SET value = value + 1');
  const written = 'SELECT FROM writes WHERE replica = $1 AND seq > $2 LIMIT 1';
  await until(`${name} writes`, async () => (await pool.query(written, [name, rows[0]!.seq])).rowCount, PATIENCE);
}

/** Resolves once others have written for all shards of these holdings. */
async function followed(holdings: ReadonlyMap<number, number>): Promise<void> {
  const isFollowed = async (): Promise<boolean> => {
    const { rows } = await pool.query<{ shard: number; term: string }>('SELECT shard, term FROM fences');
    const terms = new Map(rows.map(({ shard, term }) => [shard, Number(term)]));
    return [...holdings].every(([shard, term]) => terms.get(shard)! > term);
  };
  await until('others write for its shards', isFollowed, PATIENCE);
}

describe('shards, of processes', () => {
  it(
    'H1, H4, H9, H10 should keep each id by one Controller, whichever is killed, frozen or stopped, and refuse what the frozen one had in mind',
    { timeout: 10 * PATIENCE },
    async () => {
      const [killed, frozen, last] = [start(), start(), start()];
      await evenly(killed, frozen, last);
      const changing = changeRows(pool, { rows: ROWS, every: 20, over: over.signal });

      await busy(killed);
      killed.kill('SIGKILL');
      await evenly(frozen, last);

      await busy(frozen);
      frozen.kill('SIGSTOP');
      const [held, since] = [ownedBy(frozen), frozen.lines.length];
      await evenly(last);
      await followed(held);
      frozen.kill('SIGCONT');
      await until('what it had in mind is refused', () => refusedTo(frozen, since).length > 0, PATIENCE);
      await evenly(frozen, last);

      await busy(frozen);
      frozen.kill('SIGTERM');
      await evenly(last);
      expect(await frozen.ended).toBe(0);

      over.abort();
      await changing;
      await until('every row is as it is wanted', async () => (await drifted(pool)).length === 0, PATIENCE);
      expect(await faultsOfWrites(pool)).toEqual([]);
      last.kill('SIGTERM');
      expect(await last.ended).toBe(0);
    },
  );
});
