import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { AckPolicy, jetstream, jetstreamManager } from '@nats-io/jetstream';
import { Kvm } from '@nats-io/kv';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { natsServer, type Server } from '../../examples/nats/server.js';
import { onlyInIntegration } from './support.js';

const [MESSAGES, IDS, KILLS] = [20_000, 500, 10];

describe.runIf(onlyInIntegration)('a JetStream consumer', () => {
  let server: Server;
  let connection: NatsConnection;
  let child: ChildProcess | undefined;

  beforeAll(async () => {
    server = await natsServer();
    connection = await connect({ servers: server.url });
  });
  afterAll(async () => {
    child?.kill('SIGKILL');
    await connection.close();
    await server.stop();
  });

  it(
    `should reconcile the last state of every id and have every message acknowledged, though it is killed ${KILLS} times`,
    { timeout: 240_000 },
    async () => {
      const broker = jetstream(connection);
      const manager = await jetstreamManager(connection);
      await manager.streams.add({ name: 'items', subjects: ['items.*'] });
      await manager.consumers.add('items', {
        durable_name: 'loop',
        ack_policy: AckPolicy.Explicit,
        ack_wait: 3_000_000_000,
        max_ack_pending: 1_000,
        max_deliver: -1,
      });
      const bucket = await new Kvm(broker).create('actual');

      const last = new Map<string, string>();
      let published = 0;
      const publishing = (async () => {
        while (published < MESSAGES) {
          const batch = Array.from({ length: Math.min(100, MESSAGES - published) }, () => {
            const id = `id-${Math.floor(IDS * Math.random())}`;
            const value = String(published++);
            last.set(id, value);
            return broker.publish(`items.${id}`, value);
          });
          await Promise.all(batch);
          await pause(80);
        }
      })();

      const violations: string[] = [];
      let acked = 0;
      const start = (): ChildProcess => {
        const program = fileURLToPath(new URL('consumer.ts', import.meta.url));
        const started = spawn(process.execPath, ['--import', 'tsx', program], {
          env: { ...process.env, NATS_URL: server.url },
          stdio: ['ignore', 'pipe', 'inherit'],
        });
        createInterface({ input: started.stdout }).on('line', (line) => {
          if (line.startsWith('acked')) acked += 100;
          else violations.push(line);
        });
        return started;
      };
      for (let kill = 0; kill < KILLS; kill++) {
        const before = acked;
        const killed = (child = start());
        await vi.waitFor(() => expect(acked).toBeGreaterThan(before), { timeout: 30_000, interval: 10 });
        await pause(600 * Math.random());
        killed.kill('SIGKILL');
      }
      child = start();
      await publishing;

      const info = () => manager.consumers.info('items', 'loop');
      await vi.waitFor(
        async () => {
          const { num_pending, num_ack_pending, ack_floor } = await info();
          expect({ num_pending, num_ack_pending, acked: ack_floor.stream_seq }).toEqual({
            num_pending: 0,
            num_ack_pending: 0,
            acked: MESSAGES,
          });
        },
        { timeout: 120_000, interval: 100 },
      );
      const actual = await Promise.all([...last.keys()].map(async (id) => [id, (await bucket.get(id))?.string()] as const));
      expect(Object.fromEntries(actual)).toEqual(Object.fromEntries(last));
      expect(violations).toEqual([]);

      const ended = new Promise((resolve) => child?.once('close', resolve));
      child.kill('SIGTERM');
      expect(await ended).toBe(0);
    },
  );
});
