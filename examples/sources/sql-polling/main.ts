import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'pg';
import { Controller, noopLogger, observability } from 'kreconciler';
import { database } from '../../postgres/database.js';
import { started } from '../support/started.js';
import { OUTBOX, outbox } from './outbox.js';
import { updatedRows } from './updated-rows.js';

const begin = started(`
Polling of PostgreSQL, where there is no LISTEN: an outbox, and rows that say when they were changed.

  npm run example:sql-polling                               a server of its own
  DATABASE_URL=postgres://... npm run example:sql-polling   another; the tables \`outbox\` and \`lamps\` are made there`);

const { url, stop } = await database();
const pool = new Pool({ connectionString: url, query_timeout: 5_000 });
// An idle connection that breaks is replaced; without a listener it would end the process.
pool.on('error', () => undefined);
await pool.query(OUTBOX);
await pool.query(`CREATE TABLE IF NOT EXISTS lamps (id text PRIMARY KEY, lit int NOT NULL, updated_at timestamptz NOT NULL DEFAULT now())`);
await pool.query('CREATE INDEX IF NOT EXISTS lamps_updated_at ON lamps (updated_at)');
const signal = begin();

const list = async () => (await pool.query<{ readonly id: string }>('SELECT id FROM lamps')).rows.map(({ id }) => id);
const controller = new Controller(
  { leaderElectionEnabled: false, observability: observability({ logger: noopLogger }) },
  async (id, { streams }) => {
    const { rows } = await pool.query<{ readonly lit: number }>('SELECT lit FROM lamps WHERE id = $1', [id]);
    console.log(`${id} ${String(rows[0]?.lit ?? 0)}, by ${streams.join(' and ')}`);
  },
  {
    outbox: outbox({ pool, list, every: 500 }),
    updated: updatedRows({ pool, table: 'lamps', list, every: 500 }),
  },
);

async function changeYourMind(): Promise<void> {
  for (let count = 0; !signal.aborted; count++) {
    const room = ['kitchen', 'hall', 'attic', 'cellar'][Math.floor(Math.random() * 4)] as string;
    // In one statement, and so in one transaction. What is pruned from the outbox is older than `keep`.
    await pool.query(
      `WITH changed AS (
         INSERT INTO lamps (id, lit) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET lit = $2, updated_at = now() RETURNING id
       ), pruned AS (DELETE FROM outbox WHERE at < now() - interval '2 hours')
       INSERT INTO outbox (id) SELECT id FROM changed`,
      [room, count],
    );
    await sleep(300);
  }
}

await Promise.all([controller.run(signal), changeYourMind()]);
await pool.end();
await stop();
// Where a process just ends, a hook in the package of PostgreSQL fails.
process.exit();
