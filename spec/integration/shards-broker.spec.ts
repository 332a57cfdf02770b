import { setTimeout as pause } from 'node:timers/promises';
import { AckPolicy, jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shardOf } from 'kreconciler';
import { natsServer, type Server } from '../../examples/nats/server.js';
import { type Database, database } from '../../examples/postgres/database.js';
import { type LinesProcess, spawnLines } from '../support/lines-process.js';
import { until } from '../support/until.js';
import { onlyInIntegration } from './support.js';

const [MESSAGES, IDS, COUNT, MOVES] = [20_000, 500, 8, 9];

describe.runIf(onlyInIntegration)('JetStream by shards', () => {
  let postgres: Database;
  let server: Server;
  let connection: NatsConnection;
  let pool: pg.Pool;
  const replicas: LinesProcess[] = [];

  beforeAll(async () => {
    postgres = await database();
    server = await natsServer();
    connection = await connect({ servers: server.url });
    pool = new pg.Pool({ connectionString: postgres.url });
    pool.on('error', () => undefined);
    await pool.query('CREATE TABLE actual (id text PRIMARY KEY, seq bigint NOT NULL)');
  });
  afterAll(async () => {
    for (const { kill } of replicas) kill('SIGKILL');
    await connection.close();
    await server.stop();
    await pool.end();
    await postgres.stop();
  });

  it(
    `H9 should lose none of ${MESSAGES} messages and acknowledge none early, while their shards move ${MOVES} times`,
    { timeout: 300_000 },
    async () => {
      const broker = jetstream(connection);
      const manager = await jetstreamManager(connection);
      await manager.streams.add({ name: 'orders', subjects: ['orders.*.*'] });
      for (let shard = 0; shard < COUNT; shard++) {
        await manager.consumers.add('orders', {
          durable_name: `shard-${shard}`,
          filter_subject: `orders.${shard}.*`,
          ack_policy: AckPolicy.Explicit,
          ack_wait: 5_000_000_000,
          max_ack_pending: 200,
          max_deliver: -1,
        });
      }

      const last = new Map<string, number>();
      let published = 0;
      const publishing = (async () => {
        while (published < MESSAGES) {
          const batch = Array.from({ length: Math.min(100, MESSAGES - published) }, async () => {
            published++;
            const id = `order-${Math.floor(IDS * Math.random())}`;
            const { seq } = await broker.publish(`orders.${shardOf(id, COUNT)}.${id}`, '');
            last.set(id, Math.max(last.get(id) ?? 0, seq));
          });
          await Promise.all(batch);
          await pause(100);
        }
      })();

      const env = { DATABASE_URL: postgres.url, NATS_URL: server.url };
      const program = new URL('shards-consumer.ts', import.meta.url);
      const start = (): void => void replicas.push(spawnLines(program, env, String));
      const acked = (): number => replicas.flatMap(({ lines }) => lines).filter((line) => line === 'acked').length;
      const alive = () => replicas.filter(({ isAlive }) => isAlive);
      for (let i = 0; i < 3; i++) start();
      for (let move = 0; move < MOVES; move++) {
        const before = acked();
        await until('messages are acked', () => acked() > before, 60_000);
        await pause(1_000 * Math.random());
        // In turns one is killed, one is stopped in good order, and one more comes.
        const victim = alive()[0];
        if (move % 3 === 0) victim?.kill('SIGKILL');
        else if (move % 3 === 1) {
          victim?.kill('SIGTERM');
          expect(await victim?.ended).toBe(0);
        } else {
          start();
          start();
        }
      }
      await publishing;

      await until(
        'every message is acknowledged',
        async () => {
          const infos = await Promise.all(Array.from({ length: COUNT }, (_, shard) => manager.consumers.info('orders', `shard-${shard}`)));
          return infos.every(({ num_pending, num_ack_pending }) => num_pending === 0 && num_ack_pending === 0);
        },
        120_000,
      );
      const { rows } = await pool.query<{ id: string; seq: string }>('SELECT id, seq FROM actual');
      expect(new Map(rows.map(({ id, seq }) => [id, Number(seq)]))).toEqual(last);
      expect(replicas.flatMap(({ lines }) => lines).filter((line) => line !== 'acked')).toEqual([]);

      const still = alive();
      for (const { kill } of still) kill('SIGTERM');
      expect(await Promise.all(still.map(({ ended }) => ended))).toEqual(still.map(() => 0));
    },
  );
});
