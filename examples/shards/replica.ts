/** One replica: keeps the rows of the shards that it owns, and says in lines of JSON what it owns and has kept. Started by main.ts. */
import pg from 'pg';
import { interval } from 'rxjs';
import { consoleLogger, Controller, observability, resync } from 'kreconciler';
import { notifications, shards } from 'kreconciler/postgres';
import { CHANNEL, drifted, keep, NAME } from './rows.js';

const [, , url = '', replica = ''] = process.argv;
const pool = new pg.Pool({ connectionString: url, application_name: replica, connectionTimeoutMillis: 2_000, query_timeout: 5_000 });
// A client that breaks while it idles is replaced by the pool.
pool.on('error', () => undefined);
const telemetry = observability({ logger: consoleLogger('warn') });
let kept = 0;

const controller = new Controller(
  {
    shards: shards({ connection: url, name: NAME, observability: telemetry }),
    concurrency: 8,
    workerQueueSize: 10_000,
    maxItemRetries: Infinity,
    observability: telemetry,
  },
  async (id, { shard = 0, term = 0 }) => {
    await keep(pool, id, { replica, shard, term });
    kept++;
  },
  {
    // Without a list: who comes to own a shard lists it anyway.
    changes: () => notifications({ connection: url, channel: CHANNEL, observability: telemetry }),
    resync: (_, { acquired }) => resync({ every: 60_000, list: () => drifted(pool), relistOn: acquired, observability: telemetry }),
  },
);

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop.abort());
// Whoever reads what we print has gone, and with it the one who would stop us.
process.stdout.on('error', () => stop.abort());

const say = (): void => {
  const owns = (controller.inspect().shards?.owned ?? []).map(({ shard }) => shard);
  console.log(JSON.stringify({ owns, kept }));
};
const saying = interval(200).subscribe(say);
await controller.run(stop.signal);
saying.unsubscribe();
say();
await pool.end();
