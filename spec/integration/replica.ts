/**
 * One replica: keeps the table `actual` equal to `desired`, as long as it leads. It reads, waits a moment, and writes what
 * it has read, so that a leader that was stopped in between has something wrong to write; and the write is fenced.
 * Says what it does in lines of JSON, and at the end its metrics. SIGTERM stops it in good order.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { Controller, type Logger, type LogFields, observability } from 'kreconciler';
import { leadership, notifications } from 'kreconciler/postgres';
import { meteredSdk, series } from '../support/metered.js';

const url = process.env['DATABASE_URL'] ?? '';
const name = process.env['REPLICA'] ?? 'replica';
const slowness = Number(process.env['SLOWNESS'] ?? 100);

const say = (line: object): void => console.log(JSON.stringify({ replica: name, ...line }));
const logger: Logger = {
  with: () => logger,
  debug: () => undefined,
  info: (message, fields) => log('info', message, fields),
  warn: (message, fields) => log('warn', message, fields),
  error: (message, fields) => log('error', message, fields),
};
function log(level: string, message: string, { error, ...fields }: LogFields = {}): void {
  say({ level, message, ...fields, ...(error instanceof Error && { error: error.message }) });
}

const { provider: meterProvider, collect } = meteredSdk();
const observed = observability({ logger, meterProvider });

const pool = new pg.Pool({
  connectionString: url,
  application_name: `${name} works`,
  max: 8,
  connectionTimeoutMillis: 2_000,
  query_timeout: 5_000,
});
pool.on('error', () => undefined);

const controller = new Controller(
  {
    leader: leadership({ connection: { connectionString: url, application_name: name }, name: 'chaos', observability: observed }),
    workerCount: 8,
    workerQueueSize: 10_000,
    delayQueueSize: 10_000,
    maxItemRetries: Infinity,
    observability: observed,
  },
  async (id, { term }) => {
    const { rows } = await pool.query<{ value: number }>('SELECT value FROM desired WHERE id = $1', [id]);
    // Deaf to the signal, as most reconcilers are: only the fence keeps it from writing when it has lost the lead.
    await sleep(slowness * Math.random());
    const { rowCount } = await pool.query(
      `WITH lead AS (SELECT FROM kreconciler_terms WHERE name = 'chaos' AND term = $1 FOR SHARE),
       wrote AS (
         INSERT INTO actual SELECT $2, $3 WHERE EXISTS (SELECT FROM lead)
         ON CONFLICT (id) DO UPDATE SET value = excluded.value RETURNING id)
       INSERT INTO writes (term, replica, id) SELECT $1, $4, id FROM wrote`,
      [term, id, rows[0]?.value, name],
    );
    if (rowCount === 0) {
      say({ refused: id });
      throw new Error('Another leads by now');
    }
  },
  {
    changes: () =>
      notifications({
        connection: { connectionString: url, application_name: `${name} listens` },
        channel: 'desired',
        list: async () => {
          const { rows } = await pool.query<{ id: string }>(
            'SELECT id FROM desired LEFT JOIN actual USING (id) WHERE actual.value IS DISTINCT FROM desired.value',
          );
          say({ listed: rows.length });
          return rows.map(({ id }) => id);
        },
        heartbeat: 1_000,
        deadline: 2_000,
        observability: observed,
      }),
  },
);

controller.steps.subscribe((step) => {
  if (step.kind === 'started') say({ started: step.id });
  if ((step.kind === 'requeued' || step.kind === 'dropped') && step.failure !== undefined) {
    say({ failed: step.id, error: String(step.error) });
  }
});

const stop = new AbortController();
process.once('SIGTERM', () => stop.abort());
say({ level: 'info', message: 'starts' });
await controller.run(stop.signal);
await pool.end();
const metrics = await collect();
say({ metrics: Object.fromEntries([...metrics.keys()].map((name) => [name, series(metrics, name)])) });
say({ level: 'info', message: 'ends' });
