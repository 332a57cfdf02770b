import { setTimeout as sleep } from 'node:timers/promises';
import { Pool, type PoolClient } from 'pg';
import type { Observable, Subscription } from 'rxjs';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Database, database } from '../../postgres/database.js';
import { type FlakyProxy, flakyProxy } from '../../../spec/support/flaky-proxy.js';
import { OUTBOX, outbox } from './outbox.js';
import { updatedRows } from './updated-rows.js';

const EVERY = 30;

describe.each(['outbox', 'updated rows'])('polling of PostgreSQL: %s', (kind) => {
  let server: Database;
  let proxy: FlakyProxy;
  /** That of the writers, and that of the reader, which goes through the proxy. */
  let [writers, readers]: [Pool, Pool] = [new Pool(), new Pool()];
  let subscription: Subscription | undefined;
  let heard: string[] = [];
  let lists = 0;

  beforeAll(async () => {
    server = await database();
    proxy = await flakyProxy(server.url);
    const quick = { connectionTimeoutMillis: 1_000, query_timeout: 1_000 };
    [writers, readers] = [
      new Pool({ connectionString: server.url, ...quick, query_timeout: 5_000 }),
      new Pool({ connectionString: proxy.url, ...quick }),
    ];
    for (const pool of [writers, readers]) pool.on('error', () => undefined);
    await writers.query(OUTBOX);
    await writers.query('CREATE TABLE items (id text PRIMARY KEY, value int NOT NULL, updated_at timestamptz NOT NULL DEFAULT now())');
  });
  beforeEach(async () => {
    await writers.query('TRUNCATE outbox, items');
    [heard, lists] = [[], 0];
  });
  afterEach(() => subscription?.unsubscribe());
  afterAll(async () => {
    await proxy.close();
    await Promise.all([writers.end(), readers.end()]);
    await server.stop();
  });

  const change = async (client: Pool | PoolClient, id: string, value: number) => {
    const upsert = 'INSERT INTO items (id, value) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET value = $2, updated_at = now()';
    await client.query(`WITH changed AS (${upsert}) INSERT INTO outbox (id) VALUES ($1)`, [id, value]);
  };
  function start(config: { readonly keep?: number } = {}, list: () => Promise<readonly string[]> = () => Promise.resolve([])): void {
    const common = {
      pool: readers,
      every: EVERY,
      silence: 1_500,
      list: () => {
        lists++;
        return list();
      },
    };
    const rows$: Observable<string> =
      kind === 'outbox'
        ? outbox({ ...common, batch: 10, ...config })
        : updatedRows({ ...common, table: 'items', overlap: 2_000, ...config });
    subscription = rows$.subscribe((id) => heard.push(id));
  }
  const eventually = (assertion: () => unknown) => vi.waitFor(assertion, { timeout: 90_000, interval: 10 });
  const listed = () => eventually(() => expect(lists).toBe(1));

  it('should pass on each change once, and more than a batch of them', async () => {
    await change(writers, 'before', 1);
    // What was before the list is the list's to say, unless it is so young that a look goes back to it.
    await writers.query("UPDATE items SET updated_at = now() - interval '1 minute'");
    start();
    await listed();
    await sleep(3 * EVERY);
    for (let value = 0; value < 35; value++) await change(writers, `id-${value}`, value);
    await eventually(() => expect(heard).toHaveLength(35));
    await sleep(3 * EVERY);
    expect(heard).toEqual(Array.from({ length: 35 }, (_, value) => `id-${value}`));
    await change(writers, 'id-3', 100);
    await eventually(() => expect(heard.slice(35)).toEqual(['id-3']));
  });

  it('should not pass over what is committed late', async () => {
    start();
    await listed();
    const [early, late] = [await writers.connect(), await writers.connect()];
    await early.query('BEGIN');
    await change(early, 'early', 1);
    await late.query('BEGIN');
    await change(late, 'late', 2);
    await late.query('COMMIT');
    await sleep(5 * EVERY);
    await early.query('COMMIT');
    await eventually(() => expect([...heard].sort()).toEqual(['early', 'late']));
    await change(writers, 'rolled back', 3);
    for (const client of [early, late]) client.release();
    expect(lists).toBe(1);
  });

  it('should not pass over what is committed after the list began', async () => {
    const early = await writers.connect();
    await early.query('BEGIN');
    await change(early, 'early', 1);
    start();
    await listed();
    await sleep(5 * EVERY);
    await early.query('COMMIT');
    early.release();
    await eventually(() => expect(heard).toEqual(['early']));
  });

  it.runIf(kind === 'outbox')('should list again after a sleep that is longer than rows are kept', async () => {
    start({ keep: 1 });
    await eventually(() => expect(lists).toBeGreaterThan(1));
  });

  it('should list again after silence', async () => {
    start();
    await listed();
    await change(writers, 'one', 1);
    await eventually(() => expect(heard).toEqual(['one']));
    proxy.freeze();
    await sleep(3_000);
    await change(writers, 'two', 2);
    proxy.thaw();
    await eventually(() => expect(lists).toBe(2));
  });

  it('should lose no id to transactions of any length, restarts and silence', async () => {
    const all = async () => (await writers.query<{ readonly id: string }>('SELECT id FROM items')).rows.map(({ id }) => id);
    const [desired, actual] = [new Map<string, number>(), new Map<string, number>()];
    start({}, all);
    // Each id is read when it is heard of.
    const reading = setInterval(() => {
      for (const id of heard.splice(0)) {
        void writers.query<{ readonly value: number }>('SELECT value FROM items WHERE id = $1', [id]).then(
          ({ rows }) => actual.set(id, Math.max(rows[0]?.value ?? 0, actual.get(id) ?? 0)),
          () => heard.push(id),
        );
      }
    }, 10);
    let value = 0;
    const write = async (writer: number) => {
      for (let count = 0; count < 60; count++) {
        const id = `${writer}-${Math.floor(30 * Math.random())}`;
        const written = ++value;
        for (;;) {
          const client = await writers.connect().catch(() => undefined);
          try {
            if (client === undefined) throw new Error('no connection');
            if (client.listenerCount('error') === 0) client.on('error', () => undefined);
            await client.query('BEGIN');
            await change(client, id, written);
            if (Math.random() < 0.2) await sleep(400 * Math.random());
            await client.query('COMMIT');
            client.release();
            break;
          } catch {
            client?.release(true);
            await sleep(100);
          }
        }
        desired.set(id, written);
        await sleep(40);
      }
    };
    const writing = Promise.all([0, 1, 2, 3].map(write));
    await sleep(1_000);
    await server.restart();
    await sleep(1_000);
    proxy.freeze();
    await sleep(2_000);
    proxy.thaw();
    await writing;
    try {
      await eventually(() => expect(Object.fromEntries(actual)).toEqual(Object.fromEntries(desired)));
    } finally {
      clearInterval(reading);
    }
    expect(lists).toBeGreaterThan(1);
  });
});
