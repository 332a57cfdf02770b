import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { Controller, noopLogger, observability, shardOf, type ControllerContext } from 'kreconciler';
import * as postgres from 'kreconciler/postgres';
import { type Database, database } from '../../../examples/postgres/database.js';
import { ran } from '../../support/readmes.js';

let server: Database;
beforeAll(async () => {
  server = await database();
});
afterAll(() => server.stop());

describe('lib/postgres/README.md', () => {
  it('should show a replica that leads, lists all ids, and hears what is notified', async () => {
    const stop = new AbortController();
    const heard: { id: string; term: number | undefined }[] = [];
    const quiet = observability({ logger: noopLogger });
    const running = ran(
      'leadership',
      {
        process: { env: { DATABASE_URL: server.url } },
        reconciler: (id: string, { term }: ControllerContext) => void heard.push({ id, term }),
        allIds: async () => ['order-1'],
        signal: stop.signal,
      },
      [],
      {
        kreconciler: {
          Controller: class extends Controller {
            constructor(...[config, ...rest]: ConstructorParameters<typeof Controller>) {
              super({ observability: quiet, ...config }, ...rest);
            }
          },
        },
        'kreconciler/postgres': {
          leadership: (config: postgres.LeadershipConfig) => postgres.leadership({ observability: quiet, ...config }),
          notifications: (config: postgres.NotificationsConfig) => postgres.notifications({ observability: quiet, ...config }),
        },
      },
    );
    await vi.waitFor(() => expect(heard).toEqual([{ id: 'order-1', term: 1 }]), { timeout: 30_000 });
    const client = new pg.Client({ connectionString: server.url });
    await client.connect();
    await client.query("NOTIFY orders, 'order-2'");
    await client.end();
    await vi.waitFor(() => expect(heard).toContainEqual({ id: 'order-2', term: 1 }), { timeout: 30_000 });
    stop.abort();
    await running;
  });

  it('should show a Controller that is given all shards where it is alone, and lets go of them when it is stopped', async () => {
    const stop = new AbortController();
    const quiet = observability({ logger: noopLogger });
    const heard: { id: string; shard: number | undefined; term: number | undefined }[] = [];
    const running = ran(
      'shards',
      {
        process: { env: { DATABASE_URL: server.url } },
        reconciler: (id: string, { shard, term }: ControllerContext) => void heard.push({ id, shard, term }),
        allIds: async () => ['order-1'],
        signal: stop.signal,
      },
      [],
      {
        'kreconciler/postgres': {
          shards: (config: postgres.ShardsConfig) => postgres.shards({ observability: quiet, ...config, retry: 50 }),
          notifications: (config: postgres.NotificationsConfig) => postgres.notifications({ observability: quiet, ...config }),
        },
      },
    );
    await vi.waitFor(() => expect(heard).toEqual([{ id: 'order-1', shard: shardOf('order-1', 64), term: expect.any(Number) as number }]), {
      timeout: 30_000,
    });
    const client = new pg.Client({ connectionString: server.url });
    await client.connect();
    const locks = async (): Promise<number> =>
      (await client.query(`SELECT FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ExclusiveLock'`)).rows.length;
    expect(await locks()).toBe(64);
    stop.abort();
    await running;
    await vi.waitFor(async () => expect(await locks()).toBe(0), { timeout: 30_000 });
    await client.end();
  });
});
