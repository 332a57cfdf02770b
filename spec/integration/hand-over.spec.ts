import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Database, database } from '../../examples/postgres/database.js';
import { type Replica, replica } from './replicas.js';
import { onlyInIntegration, seconds } from './support.js';

/** The defaults of leadership, in ms, of which the bounds of a hand-over are made. */
const [heartbeat, deadline, retry] = [1_000, 2_000, 1_000];
const silence = Math.max(heartbeat, 1.2 * retry) + 2 * deadline;

/**
 * How long a hand-over may take: until the lock is free, then until those that stand by try again. To each comes what a
 * busy machine takes to answer, for which `deadline` is the limit.
 */
const bounds = {
  killed: 1.2 * retry + deadline,
  cut: 1.2 * retry + deadline,
  stopped: silence + 1.2 * retry + deadline,
  // The restart itself comes to it; then the pause before the next attempt to connect, at most 5 s.
  restarted: 5_000 + 1.2 * retry + deadline,
};

const ROWS = 2_000;

describe.runIf(onlyInIntegration)('three replicas', () => {
  let server: Database;
  let pool: pg.Pool;
  const replicas: Replica[] = [];

  beforeAll(async () => {
    server = await database();
    pool = new pg.Pool({ connectionString: server.url });
    pool.on('error', () => undefined);
    await pool.query(`
      CREATE TABLE desired (id text PRIMARY KEY, value int NOT NULL);
      CREATE TABLE actual (id text PRIMARY KEY, value int NOT NULL);
      CREATE TABLE writes (seq bigserial PRIMARY KEY, term bigint NOT NULL, replica text NOT NULL, id text NOT NULL);
      CREATE FUNCTION changed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_notify('desired', NEW.id); RETURN NULL; END $$;
      CREATE TRIGGER changed AFTER INSERT OR UPDATE ON desired FOR EACH ROW EXECUTE FUNCTION changed();`);
  });
  afterAll(async () => {
    for (const { kill } of replicas) kill('SIGKILL');
    await pool.end();
    await server.stop();
  });

  const start = (name: string, env?: NodeJS.ProcessEnv): Replica => {
    const started = replica(name, server.url, env);
    replicas.push(started);
    return started;
  };

  /** Who holds the lock; rejects where nobody does who is alive. */
  const leader = async (): Promise<Replica> => {
    const { rows } = await pool.query<{ name: string }>(
      `SELECT application_name AS name FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE locktype = 'advisory' AND granted`,
    );
    const found = replicas.find(({ name, isAlive }) => isAlive && name === rows[0]?.name);
    if (found === undefined) throw new Error(`No replica that is alive leads, but ${String(rows[0]?.name)}`);
    return found;
  };
  const term = async (): Promise<number> => {
    const { rows } = await pool.query<{ term: string }>(`SELECT term FROM kreconciler_terms WHERE name = 'chaos'`);
    return Number(rows[0]?.term ?? 0);
  };
  /** From then on it listens to signals. */
  const started = async ({ lines }: Replica): Promise<void> => {
    await vi.waitFor(() => expect(lines.map(({ message }) => message)).toContain('starts'), { timeout: 30_000 });
  };
  const newTerm = async (after: number): Promise<void> => {
    await vi.waitFor(async () => expect(await term()).toBeGreaterThan(after), { timeout: 30_000, interval: 10 });
  };

  it(
    'should lose nothing and never write in two terms at once, whatever happens to the leader',
    { timeout: (seconds + 120) * 1_000 },
    async () => {
      await pool.query(`INSERT INTO desired SELECT 'row ' || i, 0 FROM generate_series(1, ${ROWS}) AS i`);
      for (const name of ['a', 'b', 'c']) start(name);
      await newTerm(0);

      const until = Date.now() + seconds * 1_000;
      let changes = 0;
      const change = async (): Promise<void> => {
        while (Date.now() < until) {
          // Through a restart of PostgreSQL, too.
          await pool
            .query('UPDATE desired SET value = value + 1 WHERE id = $1', [`row ${1 + Math.floor(ROWS * Math.random())}`])
            .then(() => changes++)
            .catch(() => pause(50));
          await pause(4);
        }
      };
      const changing = change();

      const handOvers: { readonly kind: keyof typeof bounds; readonly took: number }[] = [];
      const harm: Record<keyof typeof bounds, (leader: Replica) => Promise<() => void>> = {
        killed: async (leader) => {
          leader.kill('SIGKILL');
          return () => start(`${leader.name}'`);
        },
        cut: async (leader) => {
          await pool.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1', [leader.name]);
          return () => undefined;
        },
        stopped: async (leader) => {
          leader.kill('SIGSTOP');
          return () => leader.kill('SIGCONT');
        },
        restarted: async () => {
          await server.restart();
          return () => undefined;
        },
      };
      for (let round = 0; Date.now() < until; round++) {
        await pause(1_000 + 500 * Math.random());
        const kind = (['killed', 'stopped', 'cut', 'restarted'] as const)[round % 4]!;
        const hurt = await vi.waitFor(leader, { timeout: 30_000, interval: 20 });
        const before = await term();
        const mend = await harm[kind](hurt);
        const since = performance.now();
        await newTerm(before);
        handOvers.push({ kind, took: performance.now() - since });
        // The new leader writes already when an old one wakes up and writes what it had in mind.
        await vi.waitFor(async () => expect((await pool.query('SELECT FROM writes WHERE term > $1 LIMIT 1', [before])).rowCount).toBe(1), {
          timeout: 10_000,
        });
        mend();
      }
      await changing;

      await vi.waitFor(
        async () => {
          const { rows } = await pool.query(
            'SELECT id, d.value, a.value AS actual FROM desired d LEFT JOIN actual a USING (id) WHERE a.value IS DISTINCT FROM d.value',
          );
          expect(rows).toEqual([]);
        },
        { timeout: 60_000, interval: 200 },
      );

      const { rows: backwards } = await pool.query(
        'SELECT * FROM (SELECT *, lag(term) OVER (ORDER BY seq) AS before FROM writes) AS w WHERE before > term',
      );
      expect(backwards).toEqual([]);
      const { rows: shared } = await pool.query('SELECT term FROM writes GROUP BY term HAVING count(DISTINCT replica) > 1');
      expect(shared).toEqual([]);

      const {
        rows: [count],
      } = await pool.query<{ writes: string; terms: string }>('SELECT count(*) AS writes, count(DISTINCT term) AS terms FROM writes');
      const refused = replicas.flatMap(({ lines }) => lines).filter(({ refused }) => refused !== undefined);
      // Else nothing was put to the proof.
      expect(refused).not.toHaveLength(0);
      console.log(`${changes} changes, ${count!.writes} writes in ${count!.terms} terms, ${refused.length} writes of old leaders refused`);
      for (const kind of Object.keys(bounds) as (keyof typeof bounds)[]) {
        const times = handOvers
          .filter((handOver) => handOver.kind === kind)
          .map(({ took }) => took)
          .sort((a, b) => a - b);
        if (times.length === 0) continue;
        const worst = times.at(-1)!;
        console.log(
          `hand-over, leader ${kind}: median ${median(times).toFixed()} ms, worst ${worst.toFixed()} ms, bound ${bounds[kind]} ms (${times.length} times)`,
        );
        expect(worst).toBeLessThan(bounds[kind]);
      }

      const alive = replicas.filter(({ isAlive }) => isAlive);
      // The last of them may have been started a moment ago.
      await Promise.all(alive.map(started));
      for (const { kill } of alive) kill('SIGTERM');
      expect(await Promise.all(alive.map(({ ended }) => ended))).toEqual([0, 0, 0]);
    },
  );

  it(
    'should finish its work on SIGTERM, and only then let the next one lead, at once and without an error',
    { timeout: 60_000 },
    async () => {
      await pool.query('TRUNCATE desired, actual, writes');
      const one = start('one', { SLOWNESS: '4000' });
      // By its name: a replica would be printed with its process and all that belongs to it.
      await vi.waitFor(async () => expect((await leader()).name).toBe('one'), { timeout: 20_000 });
      const two = start('two');
      // It listens to whoever steps down, and has tried once.
      await vi.waitFor(
        async () => {
          const { rowCount } = await pool.query(
            `SELECT FROM pg_stat_activity WHERE application_name = 'two' AND query LIKE 'SELECT pg_try_advisory_lock%' AND state = 'idle'`,
          );
          expect(rowCount).toBe(1);
        },
        { timeout: 20_000 },
      );
      const before = await term();
      await pool.query(`INSERT INTO desired SELECT 'last ' || i, 1 FROM generate_series(1, 4) AS i`);
      await vi.waitFor(() => expect(one.lines.filter(({ started }) => started !== undefined)).not.toHaveLength(0), { timeout: 20_000 });
      one.kill('SIGTERM');
      expect(await one.ended).toBe(0);
      const begun = one.lines.flatMap(({ started }) => started ?? []);
      const since = performance.now();
      await newTerm(before);
      const took = performance.now() - since;
      console.log(`hand-over, leader steps down: ${took.toFixed()} ms`);
      expect(took).toBeLessThan(retry);

      // What the first had begun it has written, in its own term, and the second began after that.
      await vi.waitFor(async () => expect((await pool.query('SELECT FROM actual')).rowCount).toBe(4), { timeout: 20_000 });
      const { rows } = await pool.query<{ term: string; replica: string; id: string }>('SELECT term, replica, id FROM writes ORDER BY seq');
      expect(
        rows
          .filter(({ replica }) => replica === 'one')
          .map(({ id }) => id)
          .sort(),
      ).toEqual(begun.sort());
      expect(rows.map(({ term }) => Number(term))).toEqual(rows.map(({ replica }) => (replica === 'one' ? before : before + 1)));
      two.kill('SIGTERM');
      expect(await two.ended).toBe(0);
      const complaints = [...one.lines, ...two.lines].filter(
        ({ level, failed }) => level === 'warn' || level === 'error' || failed !== undefined,
      );
      expect(complaints).toEqual([]);

      const seriesOf = (name: string) => [...one.lines, ...two.lines].flatMap(({ metrics }) => metrics?.[name] ?? []);
      const results = seriesOf('kreconciler_handle_result');
      const served = results.filter(({ attributes }) => attributes['result'] === 'ok').reduce((sum, { value }) => sum + value, 0);
      expect(served).toBe(4);
      expect(results.filter(({ attributes }) => !['ok', 'delay_requeue', 'drop_stopped'].includes(String(attributes['result'])))).toEqual(
        [],
      );
      const errors = [...seriesOf('kreconciler_handle_millis'), ...seriesOf('kreconciler_stream_event_count')].filter(
        ({ attributes }) => attributes['error'] === true,
      );
      const failedLists = seriesOf('kreconciler_stream_resync_millis').filter(({ attributes }) => attributes['status'] === 'error');
      const panics = seriesOf('kreconciler_handler_panic').filter(({ value }) => value > 0);
      expect([...errors, ...failedLists, ...panics]).toEqual([]);
    },
  );
});

function median(sorted: readonly number[]): number {
  return (sorted[Math.floor((sorted.length - 1) / 2)]! + sorted[Math.ceil((sorted.length - 1) / 2)]!) / 2;
}
