import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { Subscription, VirtualTimeScheduler } from 'rxjs';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { constant, noopLogger, observability } from 'kreconciler';
import { type PooledClientLike, shards, type ShardsConfig } from 'kreconciler/postgres';
import { type Database, database } from '../../../examples/postgres/database.js';
import { deferred } from '../../support/deferred.js';
import { flakyProxy } from '../../support/flaky-proxy.js';

/**
 * Real time on a real server: the times are short, and only order and bounds are asserted. But a machine that is busy must
 * not seem to be a server that does not answer.
 */
const quick = {
  heartbeat: 100,
  deadline: 10_000,
  retry: 100,
  settle: 300,
  backoff: constant(20),
  observability: observability({ logger: noopLogger }),
};

let server: Database;
let pool: pg.Pool;
let members: Member[] = [];
let names = 0;

beforeAll(async () => {
  server = await database();
  pool = new pg.Pool({ connectionString: server.url });
  pool.on('error', () => undefined);
});
afterEach(() => {
  for (const member of members) member.end();
  members = [];
});
afterAll(async () => {
  await pool.end();
  await server.stop();
});

function aName(): string {
  return `shards "${String(names++)}" of '${String(process.pid)}'`;
}

/** Until `holds` throws no more. */
function eventually(holds: () => unknown): Promise<unknown> {
  return vi.waitFor(holds, { timeout: 30_000, interval: 5 });
}

/** One that takes part, as a Controller does; what it owns, and all that it has heard. */
class Member {
  readonly owned = new Map<number, number>();
  readonly events: string[] = [];
  readonly terms: number[][] = [];
  readonly error = vi.fn();
  readonly #membership: Subscription;
  readonly #held = new Map<number, Subscription>();

  constructor(
    config: Partial<ShardsConfig> & { readonly name: string },
    readonly grace = 0,
  ) {
    members.push(this);
    const { holdings } = shards({ connection: server.url, count: 8, ...quick, ...config });
    this.#membership = holdings.subscribe({
      next: (holding) => {
        const { shard, term } = holding;
        this.owned.set(shard, term);
        this.events.push(`takes ${shard}`);
        this.terms.push([shard, term]);
        const held = new Subscription();
        this.#held.set(shard, held);
        held.add(
          // eslint-disable-next-line rxjs-x/no-nested-subscribe -- each holding has a life of its own
          holding.subscribe({
            next: () => {
              this.events.push(`revoked ${shard}`);
              setTimeout(() => this.free(shard), this.grace);
            },
            complete: () => {
              this.events.push(`lost ${shard}`);
              this.owned.delete(shard);
            },
          }),
        );
      },
      error: this.error,
    });
  }

  get shards(): number[] {
    return [...this.owned.keys()].sort((a, b) => a - b);
  }

  free(shard: number): void {
    if (!this.owned.delete(shard)) return;
    this.events.push(`frees ${shard}`);
    this.#held.get(shard)?.unsubscribe();
  }

  /** Ends the membership only. */
  leave(): void {
    this.#membership.unsubscribe();
  }

  end(): void {
    this.leave();
    for (const shard of this.shards) this.free(shard);
  }
}

/** All shards of a name are owned, each by one, and evenly. */
function areShared(count: number, ...of: readonly Member[]): void {
  expect(of.flatMap(({ shards }) => shards).sort((a, b) => a - b)).toEqual(Array.from({ length: count }, (_, shard) => shard));
  const sizes = of.map(({ shards }) => shards.length);
  expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1);
}

/** The server processes that hold a lock of a name, by what the lock is: -2 present, -1 member, 0 and up a shard. */
async function locks(name: string, count = 8): Promise<Map<number, number[]>> {
  const { rows } = await pool.query<{ shard: number; pids: number[] }>(
    `SELECT shard, array_agg(pid) AS pids
     FROM (SELECT shard, hashtextextended($1 || ' ' || shard, 1) AS hash FROM generate_series(-2, $2::int - 1) AS shard) AS keys
     JOIN pg_locks ON locktype = 'advisory' AND granted AND objsubid = 2
       AND classid = ((hash >> 32) & 4294967295)::oid AND objid = (hash & 4294967295)::oid
     GROUP BY shard`,
    [name, count],
  );
  return new Map(rows.map(({ shard, pids }) => [shard, pids]));
}

/** A client of the pool until the end of the test: whose test fails must not keep it, and the server with it. */
async function borrowed(): Promise<pg.PoolClient> {
  const client = await pool.connect();
  onTestFinished(() => client.release(true));
  return client;
}

/** A pool of one client, whose statements go through what `wrap` returns. */
function poolOfOne(wrap: (query: PooledClientLike['query']) => PooledClientLike['query']) {
  const own = new pg.Pool({ connectionString: server.url, max: 1 });
  const connect = async () => {
    const client = await own.connect();
    return Object.assign(client, { query: wrap(client.query.bind(client) as PooledClientLike['query']) }) as PooledClientLike;
  };
  onTestFinished(() => own.end());
  return { connect };
}

/** How many statements it has sent, and a pool that counts them. */
function counting() {
  let asked = 0;
  const connection = poolOfOne((query) => (text, values) => (asked++, query(text, values)));
  const during = async (ms: number): Promise<number> => {
    asked = 0;
    await pause(ms);
    return asked;
  };
  return { connection, during };
}

async function endSessions(application: string): Promise<void> {
  await pool.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1', [application]);
}

describe('shards', () => {
  it('H2 should own nothing until it is granted, and take nothing in its first retry', async () => {
    const name = aName();
    const one = new Member({ name, retry: 1_000, heartbeat: 50 });
    await eventually(async () => expect((await locks(name)).get(-1)).toHaveLength(1));
    await pause(500);
    expect(one.shards).toEqual([]);
    await eventually(() => areShared(8, one));
  });

  it('H4 should be shared evenly by those who start together, each with a term', async () => {
    const name = aName();
    const all = [new Member({ name }), new Member({ name }), new Member({ name })];
    await eventually(() => areShared(8, ...all));
    expect(all.flatMap(({ owned }) => [...owned.values()]).every((term) => term >= 1)).toBe(true);
  });

  it('H4 should move nothing between two that stay, from 3 members to 5 to 2', async () => {
    const name = aName();
    const config = { name, count: 20 };
    const first = [new Member(config), new Member(config), new Member(config)];
    await eventually(() => areShared(20, ...first));
    const lasting = first.map(({ shards }) => shards);
    const five = [...first, new Member(config), new Member(config)];
    await eventually(() => areShared(20, ...five));
    for (const [i, { shards }] of first.entries()) expect(lasting[i]).toEqual(expect.arrayContaining(shards));
    for (const gone of five.slice(2)) gone.end();
    const before = first.slice(0, 2).map(({ shards }) => shards);
    await eventually(() => areShared(20, ...five.slice(0, 2)));
    for (const [i, shards] of before.entries()) expect(five[i]!.shards).toEqual(expect.arrayContaining(shards));
  });

  it('H1 should give a shard to nobody before it is freed, and tell the next owner at once', async () => {
    const name = aName();
    const config = { name, count: 2, heartbeat: 60_000, retry: 100 };
    const one = new Member({ name, count: 2 }, 600);
    await eventually(() => areShared(2, one));
    const two = new Member({ ...config });
    await eventually(() => expect(one.events.filter((event) => event.startsWith('revoked'))).toHaveLength(1));
    await pause(300);
    expect(two.shards).toEqual([]);
    await eventually(() => areShared(2, one, two));
    const [moved] = two.shards;
    expect(one.events.slice(-2)).toEqual([`revoked ${moved}`, `frees ${moved}`]);
    expect(two.owned.get(moved!)).toBeGreaterThan(Number(one.terms.find(([shard]) => shard === moved)?.[1]));
  });

  it('H7 should not disturb the shards that stay', async () => {
    const name = aName();
    const one = new Member({ name });
    await eventually(() => areShared(8, one));
    const two = new Member({ name });
    await eventually(() => areShared(8, one, two));
    const moved = two.shards;
    expect(one.events.filter((event) => !event.startsWith('takes')).map((event) => Number(event.split(' ')[1]))).toEqual(
      expect.arrayContaining(moved),
    );
    for (const shard of one.shards) expect(one.events).not.toContain(`revoked ${shard}`);
  });

  it('should tell how many shards nobody has', async () => {
    const seen: number[] = [];
    const name = aName();
    const { holdings, unowned } = shards({ connection: server.url, count: 8, ...quick, name });
    unowned?.subscribe((free) => seen.push(free));
    const held: Subscription[] = [];
    // eslint-disable-next-line rxjs-x/no-nested-subscribe -- each holding has a life of its own
    const membership = holdings.subscribe((holding) => held.push(holding.subscribe()));
    await eventually(() => expect(seen.at(-1)).toBe(0));
    expect(seen[0]).toBe(8);
    membership.unsubscribe();
    for (const one of held) one.unsubscribe();
  });

  it('H10 should end its membership first, and free each shard when it is told to', async () => {
    const name = aName();
    const [one, two] = [new Member({ name }), new Member({ name })];
    await eventually(() => areShared(8, one, two));
    const mine = one.shards;
    one.leave();
    await eventually(async () => expect((await locks(name)).get(-1)).toHaveLength(1));
    await pause(500);
    expect(one.shards).toEqual(mine);
    one.free(mine[0]!);
    await eventually(() => expect(two.shards).toContain(mine[0]));
    expect(one.shards).toEqual(mine.slice(1));
    one.end();
    await eventually(() => areShared(8, two));
    await eventually(async () => expect((await locks(name)).get(-2)).toHaveLength(1));
  });

  it('H10 should keep what is left alive for longer than PostgreSQL lets a silent session be', async () => {
    const name = aName();
    const one = new Member({ name, deadline: 300 });
    await eventually(() => areShared(8, one));
    one.leave();
    await pause(1_500);
    expect(one.shards).toHaveLength(8);
    one.end();
    await eventually(async () => expect((await locks(name)).size).toBe(0));
  });

  it('H3 should follow one whose connection is closed', async () => {
    const name = aName();
    const one = new Member({ name });
    await eventually(() => areShared(8, one));
    const two = new Member({ name, connection: `${server.url}?application_name=dies` });
    await eventually(() => areShared(8, one, two));
    const lost = two.shards;
    await endSessions('dies');
    await eventually(() =>
      expect(two.events.filter((event) => event.startsWith('lost')).sort()).toEqual(lost.map((shard) => `lost ${shard}`)),
    );
    // Whichever of the two is faster to take them.
    await eventually(() => areShared(8, one, two));
    const terms = new Map<number, number>();
    for (const [shard, term] of [...one.terms, ...two.terms].sort(([, a], [, b]) => a! - b!)) {
      expect(term).toBeGreaterThan(terms.get(shard!) ?? 0);
      terms.set(shard!, term!);
    }
  });

  it('H6 should give all up before PostgreSQL gives it away, when PostgreSQL does not answer any more', async () => {
    const name = aName();
    const proxy = await flakyProxy(server.url);
    const one = new Member({ name, deadline: 500, connection: proxy.url });
    await eventually(() => areShared(8, one));
    const two = new Member({ name });
    await eventually(() => areShared(8, one, two));
    const lost = one.shards;
    const since = performance.now();
    let overlap = false;
    proxy.freeze();
    while (one.shards.length > 0) {
      await pause(5);
      overlap ||= one.shards.some((shard) => two.shards.includes(shard));
    }
    // The two seconds are for a machine that is busy.
    expect(performance.now() - since).toBeLessThan(120 + 2 * 500 + 2_000);
    expect(overlap).toBe(false);
    await eventually(() => areShared(8, two));
    proxy.thaw();
    await eventually(() => areShared(8, one, two));
    expect(lost.every((shard) => one.events.includes(`lost ${shard}`))).toBe(true);
    one.end();
    await proxy.close();
  });

  it('should survive a restart of PostgreSQL', async () => {
    const name = aName();
    const all = [new Member({ name }), new Member({ name })];
    await eventually(() => areShared(8, ...all));
    await server.restart();
    await eventually(() => expect(all.flatMap(({ events }) => events).filter((event) => event.startsWith('lost'))).toHaveLength(8));
    await eventually(() => areShared(8, ...all));
  });

  it('H8 should refuse another count while there are members, and take it when there is none', async () => {
    const name = aName();
    const one = new Member({ name });
    await eventually(() => areShared(8, one));
    const other = new Member({ name, count: 5 });
    await eventually(() => expect(other.error).toHaveBeenCalledOnce());
    expect(other.error.mock.lastCall).toMatchObject([
      { name: 'ShardCountError', message: expect.stringMatching(/\b8\b.*\b5\b/) as string },
    ]);
    // Not even while one that was a member still runs a shard.
    one.leave();
    await eventually(async () => expect((await locks(name)).get(-1)).toBe(undefined));
    const early = new Member({ name, count: 5 });
    await eventually(() => expect(early.error).toHaveBeenCalledOnce());
    const terms = [...one.owned.values()];
    one.end();
    await eventually(async () => expect((await locks(name)).size).toBe(0));
    const next = new Member({ name, count: 5 });
    await eventually(() => areShared(5, next));
    expect(Math.min(...next.owned.values())).toBeGreaterThan(Math.max(...terms));
  });

  it('should keep two applications in one database apart', async () => {
    const [one, two] = [new Member({ name: aName() }), new Member({ name: aName(), count: 5 })];
    await eventually(() => areShared(8, one));
    await eventually(() => areShared(5, two));
  });

  it('should strand no lock where somebody is writing under the fence of a shard', async () => {
    const name = aName();
    const one = new Member({ name, connection: `${server.url}?application_name=fenced` });
    await eventually(() => areShared(8, one));
    const writer = await borrowed();
    await writer.query('BEGIN');
    await writer.query('SELECT FROM kreconciler_shards WHERE name = $1 AND shard = 3 AND term = $2 FOR SHARE', [name, one.owned.get(3)]);
    one.end();
    const two = new Member({ name });
    await eventually(() => expect(two.shards).toEqual([0, 1, 2, 4, 5, 6, 7]));
    await eventually(async () => expect((await locks(name)).has(3)).toBe(false));
    await writer.query('COMMIT');
    await eventually(() => areShared(8, two));
  });

  it('should ask a few things every `retry`, and no more, while a row that it wants is locked', async () => {
    const name = aName();
    const { connection, during } = counting();
    const one = new Member({ name });
    await eventually(() => areShared(8, one));
    const writer = await borrowed();
    await writer.query('BEGIN');
    await writer.query('SELECT FROM kreconciler_shards WHERE name = $1 AND shard = 3 FOR SHARE', [name]);
    one.end();
    const two = new Member({ name, heartbeat: 200, retry: 200, connection });
    await eventually(() => expect(two.shards).toHaveLength(7));
    // At most one look every 160 ms; a look, a lock, a term, whether its row is there, an unlock, and another look.
    const asked = await during(800);
    await writer.query('COMMIT');
    expect(asked).toBeLessThanOrEqual(6 * 6);
    await eventually(() => areShared(8, two));
  });

  it.each([
    [0, 3],
    [3, 0],
  ])('should take what else is free where the row of one that it wants is locked, given shard %i', async (locked, free) => {
    const name = aName();
    const other = await borrowed();
    for (const shard of [locked, free])
      await other.query(
        `SELECT pg_advisory_lock((hash >> 32)::int, ((hash << 32) >> 32)::int) FROM hashtextextended($1 || ' ' || $2::int, 1) AS hash`,
        [name, shard],
      );
    const all = [new Member({ name, count: 4 }), new Member({ name, count: 4 }), new Member({ name, count: 4 })];
    const owned = () => all.flatMap(({ shards }) => shards).sort((a, b) => a - b);
    await eventually(() => expect(owned()).toEqual([1, 2]));
    const writer = await borrowed();
    await writer.query('BEGIN');
    await writer.query('SELECT FROM kreconciler_shards WHERE name = $1 AND shard = $2 FOR SHARE', [name, locked]);
    await other.query('SELECT pg_advisory_unlock_all()');
    // The one that has none is to take one, and the others wait for it.
    await eventually(() => expect(owned()).toEqual([1, 2, free].sort((a, b) => a - b)));
    await writer.query('COMMIT');
    await eventually(() => areShared(4, ...all));
  });

  it.each([
    ['a shard', 3],
    ['the counter', -1],
  ])('H1, H3 should end the membership of one that misses the row of %s, and make it again, with a greater term', async (_, shard) => {
    const name = aName();
    const warn = vi.fn();
    const one = new Member({ name });
    await eventually(() => areShared(8, one));
    const two = new Member({ name, settle: 60_000, observability: observability({ logger: { ...noopLogger, warn } }) });
    await eventually(async () => expect((await locks(name)).get(-1)).toHaveLength(2));
    const terms = new Map(one.owned);
    await pool.query('DELETE FROM kreconciler_shards WHERE name = $1 AND shard = $2', [name, shard]);
    one.end();
    await eventually(() => areShared(8, two));
    for (const [taken, term] of two.owned) expect(term).toBeGreaterThan(terms.get(taken)!);
    expect(warn).toHaveBeenCalledWith(`Membership in the shards of ${name} failed, trying again`, expect.anything());
  });

  it('should keep what it holds where a take waits for a lock for longer than `deadline`', async () => {
    const name = aName();
    const warn = vi.fn();
    const one = new Member({ name });
    // As on the way through a network: the answer that it has waited too long comes later than the server says so.
    const connection = poolOfOne((query) => (text, values) => query(text, values).finally(() => pause(20)));
    const two = new Member({ name, deadline: 2_000, connection, observability: observability({ logger: { ...noopLogger, warn } }) });
    await eventually(() => areShared(8, one, two));
    const held = two.shards;
    const writer = await borrowed();
    await writer.query('BEGIN; LOCK TABLE kreconciler_shards IN SHARE MODE');
    one.end();
    await eventually(() => expect(warn).toHaveBeenCalled());
    await writer.query('COMMIT');
    expect(two.shards).toEqual(held);
    await eventually(() => areShared(8, two));
    expect(two.events.filter((event) => event.startsWith('lost'))).toEqual([]);
  });

  it('should let a write that checks the term refuse an old owner', async () => {
    const name = aName();
    await pool.query(`CREATE TABLE fenced_by_shard AS SELECT 'a' AS id, 'none' AS value`);
    const write = async (shard: number, term: number | undefined, value: string) => {
      const { rowCount } = await pool.query(
        `WITH owner AS (SELECT FROM kreconciler_shards WHERE name = $1 AND shard = $2 AND term = $3 FOR SHARE)
         UPDATE fenced_by_shard SET value = $4 WHERE id = 'a' AND EXISTS (SELECT FROM owner)`,
        [name, shard, term, value],
      );
      return rowCount;
    };
    const one = new Member({ name });
    await eventually(() => areShared(8, one));
    const old = one.owned.get(3);
    expect(await write(3, old, 'by one')).toBe(1);
    one.end();
    const two = new Member({ name });
    await eventually(() => areShared(8, two));
    expect(await write(3, old, 'late')).toBe(0);
    expect(await write(3, two.owned.get(3), 'by two')).toBe(1);
  });

  it('H3 should free what is locked and does not run, and lose what runs and is not locked', async () => {
    const name = aName();
    const own = new pg.Pool({ connectionString: server.url, max: 1 });
    let client: pg.PoolClient | undefined;
    const connect = async () => (client = await own.connect()) as PooledClientLike;
    const one = new Member({ name, connection: { connect } });
    await eventually(() => areShared(8, one));
    const hash = `FROM hashtextextended($1 || ' 3', 1) AS hash`;
    await client!.query(`SELECT pg_advisory_unlock((hash >> 32)::int, ((hash << 32) >> 32)::int) ${hash}`, [name]);
    await eventually(() => expect(one.events).toContain('lost 3'));
    await eventually(() => areShared(8, one));
    // Twice, so that to free it once is not enough.
    await client!.query(`SELECT pg_advisory_lock((hash >> 32)::int, ((hash << 32) >> 32)::int) ${hash}`, [name]);
    const before = one.owned.get(3)!;
    one.free(3);
    await eventually(() => expect(one.owned.get(3)).toBeGreaterThan(before));
    one.end();
    await eventually(async () => expect((await locks(name)).size).toBe(0));
    await own.end();
  });

  it('H3 should end the membership of one that cannot take, and hold none of the locks', async () => {
    const name = aName();
    const one = new Member({ name });
    await eventually(() => areShared(8, one));
    await pool.query(`CREATE ROLE joins LOGIN PASSWORD 'joins'; GRANT SELECT, INSERT ON kreconciler_shards TO joins;
      GRANT UPDATE (name, count) ON kreconciler_shards TO joins`);
    const url = new URL(server.url);
    url.username = url.password = 'joins';
    url.searchParams.set('application_name', 'joins');
    const warn = vi.fn();
    const backoff = constant(60_000);
    const two = new Member({ name, connection: url.href, backoff, observability: observability({ logger: { ...noopLogger, warn } }) });
    await eventually(() => expect(warn).toHaveBeenCalledWith(expect.stringMatching(/^Membership in the shards of/), expect.anything()));
    await eventually(() => areShared(8, one));
    await eventually(async () => expect((await locks(name)).get(-1)).toHaveLength(1));
    expect(two.shards).toEqual([]);
  });

  it('H3 should wait for one that is frozen while it joins only until PostgreSQL ends its session', async () => {
    const name = aName();
    const one = new Member({ name });
    await eventually(() => areShared(8, one));
    const { promise: frozen, resolve: freeze } = deferred();
    const connection = poolOfOne((query) => async (text, values) => {
      const answer = await query(text, values);
      if (!text.includes('ON CONFLICT (name, shard) DO UPDATE')) return answer;
      freeze();
      return new Promise(() => undefined);
    });
    // Its timers are frozen, too.
    new Member({ name, deadline: 300, connection, scheduler: new VirtualTimeScheduler() });
    await frozen;
    one.end();
    const three = new Member({ name });
    await eventually(() => areShared(8, three));
  });

  it('should let go of a holding that nobody subscribes to', async () => {
    const name = aName();
    const taken: number[] = [];
    const { holdings } = shards({ connection: server.url, ...quick, name, count: 1 });
    const subscription = holdings.subscribe(({ shard }) => taken.push(shard));
    await eventually(() => expect(taken.length).toBeGreaterThan(1));
    subscription.unsubscribe();
    await eventually(async () => expect((await locks(name)).size).toBe(0));
  });

  it('should leave nothing behind when it is unsubscribed, at whatever moment', async () => {
    const name = aName();
    for (let ms = 0; ms < 300; ms += 25) {
      const one = new Member({ name, connection: `${server.url}?application_name=left` });
      await pause(ms);
      one.end();
    }
    await eventually(async () => {
      const { rows } = await pool.query(`SELECT FROM pg_stat_activity WHERE application_name = 'left'`);
      expect(rows).toHaveLength(0);
    });
    expect((await locks(name)).size).toBe(0);
  });

  it('should refuse a count that PostgreSQL has no room for', async () => {
    const one = new Member({ name: aName(), count: 9_000 });
    await eventually(() => expect(one.error).toHaveBeenCalledOnce());
    expect(one.error.mock.lastCall).toMatchObject([
      { name: 'LockTableError', message: expect.stringMatching(/^Expected `count` to be at most \d+, .* got 9000/) as string },
    ]);
  });

  it('should ask one thing a second, and no more, once all is shared', async () => {
    const name = aName();
    const { connection, during } = counting();
    const one = new Member({ name, heartbeat: 1_000, retry: 1_000, connection });
    await eventually(() => areShared(8, one));
    await pause(500);
    const asked = await during(3_000);
    expect(asked).toBeGreaterThan(0);
    expect(asked).toBeLessThanOrEqual(4);
    one.end();
    await eventually(async () => expect((await locks(name)).size).toBe(0));
  });
});

describe('shards, given nonsense', () => {
  const connection = 'postgres://localhost/x';
  it.each([
    [{ count: 0 }, 'Expected `count` to be an integer from 1 to 10000, got `0` (number)'],
    [{ count: 1.5 }, 'Expected `count` to be an integer from 1 to 10000, got `1.5` (number)'],
    [{ settle: 0 }, 'Expected `settle` to be a finite number of ms > 0, got `0` (number)'],
    [{ name: '' }, 'Expected `name` to be a non-empty string without NUL, got `` (string)'],
    [{ retry: 2 ** 31 }, 'Expected `retry` to be at most 604800000 ms, got `2147483648` (number)'],
    [{ observability: {} }, 'Expected `observability` to be an Observability with a logger, got `{}` (object)'],
  ])('should name the field', (config, message) => {
    expect(() => shards({ connection, name: 'x', ...config } as ShardsConfig)).toThrow(new TypeError(message));
  });
});
