import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { concat, lastValueFrom, NEVER, type Subscription, tap } from 'rxjs';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { constant, noopLogger, observability, resync, type Term } from 'kreconciler';
import { leadership, type LeadershipConfig, notifications, type PooledClientLike, type PoolLike } from 'kreconciler/postgres';
import { type Database, database } from '../../../examples/postgres/database.js';
import { controlled } from '../../support/controlled.js';
import { counted } from '../../support/counted.js';
import { deferred } from '../../support/deferred.js';
import { flakyProxy } from '../../support/flaky-proxy.js';

/**
 * Real time on a real server: the times are short, and only order and bounds are asserted. But a machine that is busy must
 * not seem to be a server that does not answer.
 */
const quick = { heartbeat: 50, deadline: 10_000, retry: 50, observability: observability({ logger: noopLogger }) };

let server: Database;
let pool: pg.Pool;
let subscriptions: Subscription[] = [];
let names = 0;

beforeAll(async () => {
  server = await database();
  pool = new pg.Pool({ connectionString: server.url });
  pool.on('error', () => undefined);
});
afterEach(() => {
  for (const subscription of subscriptions) subscription.unsubscribe();
  subscriptions = [];
});
afterAll(async () => {
  await pool.end();
  await server.stop();
});

function aName(): string {
  return `name "${String(names++)}" of '${String(process.pid)}'`;
}

/** Until `holds` throws no more. */
function eventually(holds: () => unknown): Promise<unknown> {
  return vi.waitFor(holds, { timeout: 30_000, interval: 5 });
}

/** One that competes, and all it has said so far. */
function replica(config: Partial<LeadershipConfig> & { readonly name: string }) {
  const said: (Term | false)[] = [];
  const subscription = leadership({ connection: server.url, ...quick, ...config }).subscribe((leads) => said.push(leads));
  subscriptions.push(subscription);
  return {
    said,
    leads: () => eventually(() => expect(said.at(-1)).toHaveProperty('term')),
    isLost: () => eventually(() => expect(said.at(-1)).toBe(false)),
    stepDown: () => subscription.unsubscribe(),
  };
}

/** The server processes that hold the lock of a name. */
async function holders(name: string): Promise<number[]> {
  const { rows } = await pool.query<{ pid: number }>(
    `SELECT pid FROM pg_locks, hashtextextended($1, 0) AS hash
     WHERE locktype = 'advisory' AND granted AND objsubid = 2
       AND classid = ((hash >> 32) & 4294967295)::oid AND objid = (hash & 4294967295)::oid`,
    [name],
  );
  return rows.map(({ pid }) => pid);
}

describe('leadership', () => {
  it('should say false first, and then the term', async () => {
    const one = replica({ name: aName() });
    expect(one.said).toEqual([false]);
    await one.leads();
    expect(one.said).toEqual([false, { term: 1 }]);
  });

  it('should have one leader at a time, and a greater term each time', async () => {
    const name = aName();
    const one = replica({ name });
    await one.leads();
    const others = [replica({ name }), replica({ name })];
    await pause(300);
    expect(others.map(({ said }) => said)).toEqual([[false], [false]]);
    expect(await holders(name)).toHaveLength(1);
    one.stepDown();
    await eventually(() => expect(others.flatMap(({ said }) => said)).toContainEqual({ term: 2 }));
    await pause(100);
    expect(others.flatMap(({ said }) => said)).toHaveLength(3);
  });

  it('should keep names apart', async () => {
    await Promise.all([replica({ name: aName() }).leads(), replica({ name: aName() }).leads()]);
  });

  it('should take the config of a pg Client, and what pg makes of it', async () => {
    const connection: pg.ClientConfig = { connectionString: server.url, application_name: 'configured' };
    await replica({ name: aName(), connection }).leads();
    expect((await pool.query(`SELECT FROM pg_stat_activity WHERE application_name = 'configured'`)).rowCount).toBe(1);
  });

  it('should connect ever more rarely where it gets the lock and can begin no term', async () => {
    const warn = vi.fn();
    const [name, schema] = [aName(), 'no such schema'];
    const backoff = vi.fn((failures: number) => failures);
    const one = replica({ name, schema, backoff, observability: observability({ logger: { ...noopLogger, warn } }) });
    await eventually(() => expect(backoff.mock.calls.length).toBeGreaterThanOrEqual(3));
    expect(backoff.mock.calls.slice(0, 3).map(([failures]) => failures)).toEqual([1, 2, 3]);
    expect(warn).toHaveBeenCalledWith(`Leadership of ${name} failed, trying again`, {
      failures: 1,
      delay: 1,
      error: expect.objectContaining({ message: 'schema "no such schema" does not exist' }) as Error,
    });
    expect(one.said).toEqual([false]);
  });

  it('should hand over at once when a leader steps down, however seldom the others try', async () => {
    const name = aName();
    const one = replica({ name });
    await one.leads();
    const two = replica({ name, retry: 60_000, connection: `${server.url}?application_name=patient` });
    await eventually(async () => {
      const { rows } = await pool.query(
        `SELECT FROM pg_stat_activity WHERE application_name = 'patient' AND query LIKE 'SELECT pg_try_advisory_lock%' AND state = 'idle'`,
      );
      expect(rows).toHaveLength(1);
    });
    expect(two.said).toEqual([false]);
    one.stepDown();
    await two.leads();
  });

  it('should say false as soon as its connection is cut, and lead again in a new term', async () => {
    const name = aName();
    const one = replica({ name });
    await one.leads();
    const [pid] = await holders(name);
    await pool.query('SELECT pg_terminate_backend($1)', [pid]);
    await eventually(() => expect(one.said).toEqual([false, { term: 1 }, false, { term: 2 }]));
  });

  it('should say false before the lock is free, when PostgreSQL does not answer any more', async () => {
    const name = aName();
    const proxy = await flakyProxy(server.url);
    const deadline = 500;
    const one = replica({ name, deadline, connection: proxy.url });
    await one.leads();
    const two = replica({ name });
    const since = performance.now();
    proxy.freeze();
    await one.isLost();
    const noticed = performance.now() - since;
    expect(two.said).toEqual([false]);
    await two.leads();
    const handedOver = performance.now() - since;
    // The two seconds are for a machine that is busy.
    expect(noticed).toBeLessThan(quick.heartbeat + deadline + 2_000);
    expect(handedOver).toBeLessThan(2 * 1.2 * quick.retry + 2 * deadline + 2_000);
    proxy.thaw();
    two.stepDown();
    await one.leads();
    expect(one.said).toEqual([false, { term: 1 }, false, { term: 3 }]);
    one.stepDown();
    await proxy.close();
  });

  it('should survive a restart of PostgreSQL', async () => {
    const one = replica({ name: aName() });
    await one.leads();
    await server.restart();
    await eventually(() => expect(one.said).toEqual([false, { term: 1 }, false, { term: 2 }]));
  });

  it('should leave nothing behind when it is unsubscribed, at whatever moment', async () => {
    const name = aName();
    for (let ms = 0; ms < 60; ms += 6) {
      const one = replica({ name, connection: `${server.url}?application_name=left` });
      await pause(ms);
      one.stepDown();
    }
    await eventually(async () => {
      const { rows } = await pool.query(`SELECT FROM pg_stat_activity WHERE application_name = 'left'`);
      expect(rows).toHaveLength(0);
    });
    expect(await holders(name)).toEqual([]);
  });

  it('should keep the tokens in any table it is given, quoted safely', async () => {
    const [schema, table] = [`odd "schema"; --`, `it's "x"; DROP TABLE y`];
    await pool.query(`CREATE SCHEMA IF NOT EXISTS ${pg.escapeIdentifier(schema)}`);
    await replica({ name: aName(), schema, table }).leads();
    const { rows } = await pool.query(`SELECT term FROM ${pg.escapeIdentifier(schema)}.${pg.escapeIdentifier(table)}`);
    expect(rows).toEqual([{ term: '1' }]);
  });

  it('should need no right to create a table that is there', async () => {
    await replica({ name: aName() }).leads();
    await pool.query(`CREATE ROLE plain LOGIN PASSWORD 'plain'; REVOKE CREATE ON SCHEMA public FROM PUBLIC;
      GRANT SELECT, INSERT, UPDATE ON kreconciler_terms TO plain`);
    const url = new URL(server.url);
    url.username = url.password = 'plain';
    await replica({ name: aName(), connection: url.href }).leads();
  });

  it('should borrow from a pool, and never give back a client whose settings it has changed', async () => {
    const own = new pg.Pool({ connectionString: server.url, max: 1 });
    const one = replica({ name: aName(), connection: own });
    await one.leads();
    expect([own.totalCount, own.idleCount]).toEqual([1, 0]);
    one.stepDown();
    const { rows } = await own.query('SHOW idle_session_timeout');
    expect(rows).toEqual([{ idle_session_timeout: '0' }]);
    await own.end();
  });

  it('should let a write that checks the term refuse an old leader', async () => {
    const name = aName();
    await pool.query(`CREATE TABLE fenced AS SELECT 'a' AS id, 'none' AS value`);
    const write = async (term: number, value: string) => {
      const { rowCount } = await pool.query(
        `WITH lead AS (SELECT FROM kreconciler_terms WHERE name = $1 AND term = $2 FOR SHARE)
         UPDATE fenced SET value = $3 WHERE id = 'a' AND EXISTS (SELECT FROM lead)`,
        [name, term, value],
      );
      return rowCount;
    };
    const one = replica({ name });
    await one.leads();
    expect(await write(1, 'by 1')).toBe(1);
    const two = replica({ name });
    one.stepDown();
    await two.leads();
    expect(await write(1, 'late')).toBe(0);
    expect(await write(2, 'by 2')).toBe(1);
  });

  it('should begin a term only when the last write of the term before has ended', async () => {
    const name = aName();
    const one = replica({ name });
    await one.leads();
    const writer = await pool.connect();
    await writer.query('BEGIN');
    await writer.query('SELECT FROM kreconciler_terms WHERE name = $1 AND term = 1 FOR SHARE', [name]);
    const two = replica({ name });
    one.stepDown();
    await eventually(async () => expect(await holders(name)).toHaveLength(1));
    await pause(100);
    expect(two.said).toEqual([false]);
    await writer.query('COMMIT');
    writer.release();
    await two.leads();
  });
});

/** A pool behind which every query is answered by the next of some backends, as a transaction-pooling proxy has it. */
function proxied(...backends: readonly number[]): PoolLike & { readonly released: unknown[] } {
  let queries = 0;
  const released: unknown[] = [];
  const client = {
    processID: 4711,
    query: () =>
      Promise.resolve({ rows: [{ pid: backends[Math.min(queries++, backends.length - 1)], held: true, missing: false, term: '7' }] }),
    on: () => undefined,
    release: (destroy: unknown) => released.push(destroy),
  };
  return { connect: () => Promise.resolve(client), released };
}

describe('leadership, of a pool that is exhausted', () => {
  it('should stand in its line once, however often it tries, and leave it when it is unsubscribed', async () => {
    const own = new pg.Pool({ connectionString: server.url, max: 1 });
    const taken = await own.connect();
    const warn = vi.fn();
    const one = replica({
      name: aName(),
      connection: own,
      deadline: 20,
      backoff: constant(1),
      observability: observability({ logger: { ...noopLogger, warn } }),
    });
    await eventually(() => expect(warn.mock.calls.length).toBeGreaterThan(10));
    expect(own.waitingCount).toBe(1);
    expect(warn.mock.lastCall).toMatchObject([expect.anything(), { error: { message: 'The pool lent no client within 20 ms' } }]);
    one.stepDown();
    expect(own.waitingCount).toBe(0);
    taken.release();
    await own.end();
  });

  it('should take the client that it has waited for so long', async () => {
    const own = new pg.Pool({ connectionString: server.url, max: 1 });
    const taken = await own.connect();
    const backoff = vi.fn(() => 1);
    const one = replica({ name: aName(), connection: own, deadline: 500, backoff });
    await eventually(() => expect(backoff.mock.calls.length).toBeGreaterThan(1));
    taken.release();
    await one.leads();
    one.stepDown();
    await own.end();
  });

  it('should give back at once what a pool without a line lends too late', async () => {
    const { promise, resolve } = deferred<PooledClientLike>();
    const connect = vi.fn(() => promise);
    const backoff = vi.fn(() => 1);
    const one = replica({ name: aName(), connection: { connect }, deadline: 20, backoff });
    await eventually(() => expect(backoff.mock.calls.length).toBeGreaterThan(3));
    expect(connect).toHaveBeenCalledOnce();
    one.stepDown();
    const release = vi.fn();
    resolve({ query: () => Promise.resolve({ rows: [] }), on: () => undefined, release });
    await eventually(() => expect(release).toHaveBeenCalledOnce());
  });
});

/** `pool`, and how often a statement was sent through it that begins with `text`. */
function counting(pool: pg.Pool, text: string) {
  let count = 0;
  const connect = async () => {
    const client = await pool.connect();
    const query = client.query.bind(client) as PooledClientLike['query'];
    const counted: PooledClientLike['query'] = (statement, values) => {
      if (statement.startsWith(text)) count++;
      return query(statement, values);
    };
    return Object.assign(client, { query: counted }) as PooledClientLike;
  };
  return { connect, count: () => count };
}

describe('leadership, of which others step down', () => {
  it('should try at most ten times a second, though thousands say so', async () => {
    const name = aName();
    await replica({ name }).leads();
    const counted = counting(pool, 'SELECT pg_try_advisory_lock');
    replica({ name, retry: 60_000, connection: counted });
    await eventually(() => expect(counted.count()).toBe(1));
    const since = performance.now();
    await Promise.all(Array.from({ length: 3_000 }, () => pool.query('SELECT pg_notify($1, $2)', ['kreconciler_leadership', name])));
    await pause(300);
    expect(counted.count()).toBeGreaterThan(1);
    expect(counted.count()).toBeLessThanOrEqual(3 + (performance.now() - since) / 100);
  });
});

describe('leadership, of a session that goes on', () => {
  it('L5 should say false before it frees the lock, where PostgreSQL refuses to answer the heartbeat', async () => {
    const said: unknown[] = [];
    const heard: unknown[] = [];
    const rows = [{ pid: 1, held: true, missing: false, term: '7' }];
    let isRefused = false;
    const query = (text: string) => {
      if (text.includes('pg_advisory_unlock')) heard.push(...said);
      if (text === 'SELECT pg_backend_pid() AS pid' && isRefused) return Promise.reject(new Error('statement timeout'));
      if (text.includes('RETURNING term')) isRefused = true;
      return Promise.resolve({ rows });
    };
    const connection = { connect: () => Promise.resolve({ processID: 1, query, on: () => undefined, release: () => undefined }) };
    const leader = leadership({ ...quick, name: 'x', connection, backoff: constant(60_000) });
    subscriptions.push(leader.subscribe((leads) => said.push(leads)));
    await eventually(() => expect(heard).toEqual([false, { term: 7 }, false]));
  });
});

describe('leadership, of a server that ends each session', () => {
  it('F4 should lead ever more rarely', async () => {
    const name = aName();
    const terms = new Set<number>();
    const backoff = vi.fn((failures: number) => failures);
    const end = async () => pool.query('SELECT pg_terminate_backend(pid) FROM unnest($1::int[]) AS pid', [await holders(name)]);
    const leader = leadership({ ...quick, connection: server.url, name, backoff });
    subscriptions.push(
      leader.subscribe((leads) => {
        if (leads === false) return;
        terms.add(leads.term);
        setTimeout(() => void end().catch(() => undefined), 20);
      }),
    );
    await eventually(() => expect(terms.size).toBe(4));
    expect(backoff.mock.calls.map(([failures]) => failures)).toEqual([1, 2, 3]);
  });
});

describe('leadership, with a logger that throws', () => {
  it('should lead, and lead again, all the same', async () => {
    const name = aName();
    const refuses = () => {
      throw new Error('the disk is full');
    };
    const logger = { ...noopLogger, info: refuses, warn: refuses };
    const one = replica({ name, observability: observability({ logger }) });
    await one.leads();
    await pool.query('SELECT pg_terminate_backend($1)', await holders(name));
    await eventually(() => expect(one.said).toEqual([false, { term: 1 }, false, { term: 2 }]));
  });
});

describe('leadership, behind a proxy', () => {
  it('should error, once it has said false, where another backend answers than the one that holds the lock', async () => {
    const warn = vi.fn();
    const connection = proxied(1, 1, 1, 1, 1, 1, 2);
    const said: unknown[] = [];
    const leader = leadership({ ...quick, name: 'x', connection, observability: observability({ logger: { ...noopLogger, warn } }) });
    const error = await lastValueFrom(leader.pipe(tap((leads) => said.push(leads)))).catch((error: unknown) => error);
    expect(said).toEqual([false, { term: 7 }, false]);
    expect(error).toMatchObject({ name: 'PoolerError', message: expect.stringContaining('backend 1 before, 2 now') as string });
    expect(warn).toHaveBeenCalledExactlyOnceWith(expect.stringContaining('A proxy stands before PostgreSQL'), { pid: 1, processID: 4711 });
    await eventually(() => expect(connection.released).toEqual([true]));
  });

  it('should end the run of a Controller with an error that names it', async () => {
    const leader = leadership({ ...quick, name: 'x', connection: proxied(1, 2) });
    const { controller } = controlled(() => undefined, { none: NEVER }, { leader });
    await expect(controller.run()).rejects.toThrow(/^The leader source failed: A transaction-pooling proxy answers for PostgreSQL/);
  });
});

describe('leadership, of a Controller', () => {
  it('should give the reconciler the term as a fencing token, and take the work up anew in the next one', async () => {
    const name = aName();
    const terms: unknown[] = [];
    const stop = new AbortController();
    const { controller } = controlled(
      (_, { term }) => void terms.push(term),
      { ids: () => concat(['a'], NEVER) },
      {
        leader: leadership({ connection: server.url, ...quick, name }),
      },
    );
    const done = controller.run(stop.signal);
    await eventually(() => expect(terms).toEqual([1]));
    const [pid] = await holders(name);
    await pool.query('SELECT pg_terminate_backend($1)', [pid]);
    await eventually(() => expect(terms).toEqual([1, 2]));
    stop.abort();
    await done;
    expect(terms).toEqual([1, 2]);
  });

  it('L3 should subscribe once per term and list once, and leave nothing behind, though leadership flaps 100 times', async () => {
    const name = aName();
    const connection = `${server.url}?application_name=flaps`;
    const { source, subscribed, open } = counted(NEVER);
    const list = vi.fn(() => ['a', 'b']);
    const seen = new Set<number | undefined>();
    let mostOpen = 0;
    const stop = new AbortController();
    const { controller } = controlled(
      (_, { term }) => {
        seen.add(term);
        mostOpen = Math.max(mostOpen, open());
      },
      {
        changes: source,
        listed: resync({ every: 60_000, list }),
        notified: notifications({ ...quick, connection, channel: 'flaps', list }),
      },
      { leader: leadership({ ...quick, connection, name, backoff: constant(1) }), delayResolution: 1 },
    );
    const done = controller.run(stop.signal);
    for (let term = 1; term <= 100; term++) {
      // The list has come through the connection that listens, too.
      await eventually(() => expect([seen.has(term), list.mock.calls.length]).toEqual([true, 2 * term]));
      if (term < 100) await pool.query('SELECT pg_terminate_backend($1)', await holders(name));
    }
    expect([subscribed(), mostOpen, open()]).toEqual([100, 1, 1]);
    const connections = async () => (await pool.query(`SELECT FROM pg_stat_activity WHERE application_name = 'flaps'`)).rowCount;
    await eventually(async () => expect(await connections()).toBe(2));
    expect(controller.inspect()).toMatchObject({ ready: 0, running: 0, waiting: 0, abandoned: 0 });
    stop.abort();
    await done;
    expect([open(), subscribed(), list.mock.calls.length]).toEqual([0, 100, 200]);
    await eventually(async () => expect(await connections()).toBe(0));
  });

  it('L5 should free the lock only after the work has stopped', async () => {
    const name = aName();
    const stop = new AbortController();
    const { promise, resolve } = deferred();
    const { controller, kinds } = controlled(
      () => promise,
      { ids: () => concat(['a'], NEVER) },
      {
        leader: leadership({ connection: server.url, ...quick, name }),
      },
    );
    const done = controller.run(stop.signal);
    await eventually(() => expect(kinds()).toContain('started'));
    stop.abort();
    const next = replica({ name });
    await pause(200);
    expect(next.said).toEqual([false]);
    resolve();
    await done;
    expect(kinds()).toEqual(['enqueued', 'started', 'succeeded']);
    await next.leads();
  });
});

describe('leadership, given nonsense', () => {
  const connection = 'postgres://localhost/x';
  it.each([
    [{ connection: '' }, 'Expected `connection` to be a connection string, the config of a pg Client, or a pg Pool, got `` (string)'],
    [
      { connection: new pg.Client({ password: 'secret' }) },
      'Expected `connection` to be a connection string, the config of a pg Client, or a pg Pool, got `a Client, which cannot reconnect` (string)',
    ],
    [
      { connection: undefined },
      'Expected `connection` to be a connection string, the config of a pg Client, or a pg Pool, got `undefined`',
    ],
    [{ name: '' }, 'Expected `name` to be a non-empty string without NUL, got `` (string)'],
    [{ name: 5 }, 'Expected `name` to be a non-empty string without NUL, got `5` (number)'],
    [{ name: 'ä'.repeat(501) }, `Expected \`name\` to be at most 1000 bytes long, got \`${'ä'.repeat(100)}…\` (string)`],
    [{ table: 'ä'.repeat(32) }, `Expected \`table\` to be a name of 1 to 63 bytes without NUL, got \`${'ä'.repeat(32)}\` (string)`],
    [{ schema: '' }, 'Expected `schema` to be a name of 1 to 63 bytes without NUL, got `` (string)'],
    [{ heartbeat: 0 }, 'Expected `heartbeat` to be a finite number of ms > 0, got `0` (number)'],
    [{ heartbeat: 2 ** 31 }, 'Expected `heartbeat` to be at most 604800000 ms, got `2147483648` (number)'],
    [{ deadline: 2 ** 31 }, 'Expected `deadline` to be at most 604800000 ms, got `2147483648` (number)'],
    [{ retry: 2 ** 31 }, 'Expected `retry` to be at most 604800000 ms, got `2147483648` (number)'],
    [{ observability: {} }, 'Expected `observability` to be an Observability with a logger, got `{}` (object)'],
    [{ deadline: Infinity }, 'Expected `deadline` to be a finite number of ms > 0, got `Infinity` (number)'],
    [{ retry: '1' }, 'Expected `retry` to be a finite number of ms > 0, got `1` (string)'],
    [{ backoff: 5 }, 'Expected `backoff` to be a function, got `5` (number)'],
    [{ scheduler: {} }, 'Expected `scheduler` to be a scheduler, got `{}` (object)'],
  ])('should name the field', (config, message) => {
    expect(() => leadership({ connection, name: 'x', ...config } as LeadershipConfig)).toThrow(new TypeError(message));
  });

  it.each([
    [undefined, '`undefined`'],
    [null, '`null`'],
    ['postgres://localhost/x', '`postgres://localhost/x` (string)'],
  ])('should name the config, given %s', (config, shown) => {
    expect(() => leadership(config as never)).toThrow(new TypeError(`Expected \`config\` to be an object, got ${shown}`));
  });

  it('should lead by the longest name there is, even one that cannot be compressed', async () => {
    await replica({ name: randomBytes(750).toString('base64') }).leads();
  });

  it('should take the longest times there are to PostgreSQL', async () => {
    const week = 604_800_000;
    await replica({ name: aName(), heartbeat: week, deadline: week, retry: week }).leads();
  });
});
