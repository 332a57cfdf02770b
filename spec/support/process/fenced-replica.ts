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
import { drifted, READ, WRITE } from '../fenced-writes.js';

const env = process.env as Record<string, string>;
const { DATABASE_URL: url = '', ENGINE_URL: engineUrl = '', ENGINE = '', REPLICA: replica = '', SHARDS = '', TAKES = '' } = env;
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

const settings = { name: 'chaos', observability: observed, ...(JSON.parse(SHARDS) as object) };
const shards = ENGINE === 'etcd' ? etcd.shards({ url: engineUrl, ...settings }) : postgres.shards({ connection: engineUrl, ...settings });

async function run(id: string, shard: number, term: number): Promise<void> {
  const read = await pool.query<{ value: number; from: string }>(READ, [shard, term, id]);
  const row = read.rows[0] ?? refuse(id, shard, term);
  // Deaf to the signal, as most reconcilers are.
  await sleep(Number(TAKES) * Math.random());
  const { rowCount } = await pool.query(WRITE, [shard, term, id, row.value, replica, row.from]);
  if (rowCount === 0) refuse(id, shard, term);
}

function refuse(id: string, shard: number, term: number): never {
  say({ refused: id, shard, term });
  throw new Error(`Shard ${shard} is in a later term than ${term}`);
}

const list = () => drifted(pool);

const controller = new Controller(
  { shards, concurrency: 16, workerQueueSize: 10_000, delayQueueSize: 10_000, maxItemRetries: Infinity, observability: observed },
  (id, { shard = -1, term = -1 }) => run(id, shard, term),
  {
    changes: () =>
      postgres.notifications({
        connection: url,
        channel: 'desired',
        list,
        heartbeat: 1_000,
        deadline: 2_000,
        observability: observed,
      }),
    // Only what has come: a list of all, from time to time, would hide that a move has lost something.
    acquired: (_, { acquired }) => resync({ every: 3_600_000, list, relistOn: acquired, observability: observed }),
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
