/**
 * A consumer of a JetStream whose subjects are partitioned by shards, in a process of its own: writes for each id the sequence of its last
 * message, under the fence of its shard. Says what must not be in lines on stdout, and how many messages it has acknowledged.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { jetstream, jetstreamManager, type JsMsg } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import pg from 'pg';
import { lastValueFrom } from 'rxjs';
import { acknowledge, consoleLogger, Controller, observability, perShard } from 'kreconciler';
import { shards } from 'kreconciler/postgres';
import { deliveries } from '../../examples/nats/deliveries.js';

const url = process.env['DATABASE_URL'] ?? '';
const connection = await connect({ servers: process.env['NATS_URL'] ?? '' });
const broker = jetstream(connection);
const manager = await jetstreamManager(connection);
const pool = new pg.Pool({ connectionString: url, max: 8 });
const observed = observability({ logger: consoleLogger('error') });

const done = new Map<string, number>();
const controller = new Controller(
  {
    shards: shards({ connection: url, name: 'broker', count: 8, retry: 300, settle: 1_000, observability: observed }),
    workerConcurrency: 4,
    workerQueueSize: 200,
    maxItemRetries: 1,
    delayResolution: 50,
    observability: observed,
  },
  async (id, { shard, term }) => {
    const last = await manager.streams.getMessage('orders', { last_by_subj: `orders.${shard}.${id}` });
    await sleep(4 * Math.random());
    if (Math.random() < 0.05) throw new Error('bad luck');
    const seq = last?.seq ?? 0;
    const { rowCount } = await pool.query(
      `WITH owner AS (SELECT FROM kreconciler_shards WHERE name = 'broker' AND shard = $1 AND term = $2 FOR SHARE)
       INSERT INTO actual SELECT $3, $4 WHERE EXISTS (SELECT FROM owner)
       ON CONFLICT (id) DO UPDATE SET seq = excluded.seq`,
      [shard, term, id, seq],
    );
    if (rowCount === 0) throw new Error(`Shard ${shard} has another owner by now`);
    done.set(id, seq);
  },
  { orders: perShard((shard) => deliveries(() => broker.consumers.get('orders', `shard-${shard}`))) },
);

let acked = 0;
const answered = lastValueFrom(
  controller.steps.pipe(
    acknowledge<JsMsg>({
      ack: (message) => {
        const id = message.subject.slice(message.subject.lastIndexOf('.') + 1);
        if ((done.get(id) ?? 0) < message.seq) console.log(`acked early: ${message.seq} of ${id}`);
        message.ack();
        if (++acked % 100 === 0) console.log('acked');
      },
      nack: (message, delay) => {
        message.nak(delay);
      },
      delay: 200,
      observability: observed,
    }),
  ),
  { defaultValue: undefined },
);

const stop = new AbortController();
process.once('SIGTERM', () => stop.abort());
await controller.run(stop.signal);
await answered;
await connection.drain();
await pool.end();
