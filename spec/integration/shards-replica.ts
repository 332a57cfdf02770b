/**
 * One replica of a Controller that shares its ids by shards: keeps the table `actual` equal to `desired`. Each run raises the fence
 * of its shard and reads, waits a moment, and writes what it has read, so that an owner that was frozen in between has something
 * wrong to write; the fence refuses it. Says in lines of JSON what it owns and what was refused. SIGTERM stops it in good order.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { consoleLogger, Controller, observability, resync } from 'kreconciler';
import * as etcd from 'kreconciler/etcd';
import * as postgres from 'kreconciler/postgres';

const env = process.env as Record<string, string>;
const { DATABASE_URL: url = '', ENGINE_URL: engineUrl = '', ENGINE = 'postgres', REPLICA: replica = '' } = env;
const say = (line: object): void => console.log(JSON.stringify({ replica, ...line }));
const observed = observability({ logger: consoleLogger('error') });
const pool = new pg.Pool({
  connectionString: url,
  application_name: replica,
  max: 8,
  connectionTimeoutMillis: 2_000,
  query_timeout: 5_000,
});
pool.on('error', () => undefined);

const name = 'chaos';
const shards =
  ENGINE === 'etcd'
    ? etcd.shards({ url: engineUrl, name, ttl: 6_000, retry: 500, settle: 2_000, observability: observed })
    : postgres.shards({ connection: engineUrl, name, observability: observed });

/** The fence: the highest term that the table has seen of a shard. Who comes with an older one is refused. */
const FENCE = `
  INSERT INTO fences AS fence VALUES ($1, $2)
  ON CONFLICT (shard) DO UPDATE SET term = excluded.term WHERE fence.term <= excluded.term RETURNING shard`;

async function run(id: string, shard: number, term: number): Promise<void> {
  const read = await pool.query<{ value: number; from: string }>(
    `WITH fence AS (${FENCE}) SELECT value, clock_timestamp()::text AS from FROM desired WHERE id = $3 AND EXISTS (SELECT FROM fence)`,
    [shard, term, id],
  );
  const row = read.rows[0] ?? refuse(id, shard, term);
  // Deaf to the signal, as most reconcilers are.
  await sleep(100 * Math.random());
  const { rowCount } = await pool.query(
    `WITH fence AS (${FENCE}),
     wrote AS (
       INSERT INTO actual SELECT $3, $4 WHERE EXISTS (SELECT FROM fence)
       ON CONFLICT (id) DO UPDATE SET value = excluded.value RETURNING id)
     INSERT INTO writes (id, shard, term, replica, "from", "to") SELECT id, $1, $2, $5, $6::timestamptz, clock_timestamp() FROM wrote`,
    [shard, term, id, row.value, replica, row.from],
  );
  if (rowCount === 0) refuse(id, shard, term);
}

function refuse(id: string, shard: number, term: number): never {
  say({ refused: id, shard, term });
  throw new Error(`Shard ${shard} is in a later term than ${term}`);
}

const drifted = async (): Promise<string[]> => {
  const { rows } = await pool.query<{ id: string }>(
    'SELECT id FROM desired LEFT JOIN actual USING (id) WHERE actual.value IS DISTINCT FROM desired.value',
  );
  return rows.map(({ id }) => id);
};

const controller = new Controller(
  { shards, concurrency: 16, workerQueueSize: 10_000, delayQueueSize: 10_000, maxItemRetries: Infinity, observability: observed },
  (id, { shard = -1, term = -1 }) => run(id, shard, term),
  {
    changes: () =>
      postgres.notifications({
        connection: url,
        channel: 'desired',
        list: drifted,
        heartbeat: 1_000,
        deadline: 2_000,
        observability: observed,
      }),
    // Only what has come: a list of all, from time to time, would hide that a move has lost something.
    acquired: (_, { acquired }) => resync({ every: 3_600_000, list: drifted, relistOn: acquired, observability: observed }),
  },
);

let said = '';
const saying = setInterval(() => {
  const owns = (controller.inspect().shards?.owned ?? []).map(({ shard, term }) => [shard, term]);
  if (said === (said = JSON.stringify(owns))) return;
  say({ owns });
}, 50);

const stop = new AbortController();
process.once('SIGTERM', () => stop.abort());
say({ message: 'starts' });
await controller.run(stop.signal);
clearInterval(saying);
say({ owns: [], message: 'ends' });
await pool.end();
