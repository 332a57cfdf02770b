import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Database, database } from '../../examples/postgres/database.js';
import { type LinesProcess, spawnLines } from '../support/lines-process.js';
import { until } from '../support/until.js';
import { onlyInIntegration } from './support.js';

interface Said {
  readonly runs: number;
  readonly cpu: number;
  readonly owned: number;
}

describe.runIf(onlyInIntegration)('what shards cost', () => {
  let server: Database;
  let pool: pg.Pool;
  const replicas: LinesProcess<Said>[] = [];

  beforeAll(async () => {
    server = await database();
    pool = new pg.Pool({ connectionString: server.url });
    pool.on('error', () => undefined);
  });
  afterAll(async () => {
    for (const { kill } of replicas) kill('SIGKILL');
    await pool.end();
    await server.stop();
  });

  /** Replicas that share all shards evenly, and have had a while to get going. */
  async function started(many: number, env: NodeJS.ProcessEnv): Promise<readonly LinesProcess<Said>[]> {
    const program = new URL('shards-waiter.ts', import.meta.url);
    const these = Array.from({ length: many }, (_, i) =>
      spawnLines(program, { DATABASE_URL: server.url, REPLICA: `waiter ${i}`, ...env }, (line) => JSON.parse(line) as Said),
    );
    replicas.push(...these);
    await until(
      `${many} own all, and evenly`,
      () => {
        const sizes = these.map(({ lines }) => lines.at(-1)?.owned ?? 0);
        return sizes.reduce((sum, size) => sum + size) === 64 && Math.max(...sizes) - Math.min(...sizes) <= 1;
      },
      60_000,
    );
    await pause(2_000);
    return these;
  }
  async function stop(these: readonly LinesProcess<Said>[]): Promise<void> {
    for (const { kill } of these) kill('SIGTERM');
    await Promise.all(these.map(({ ended }) => ended));
  }
  const sum = (these: readonly LinesProcess<Said>[], field: keyof Said): number =>
    these.reduce((all, { lines }) => all + (lines.at(-1)?.[field] ?? 0), 0);

  it('should run as many reconcilers that wait as there are replicas', { timeout: 300_000 }, async () => {
    const rates: number[] = [];
    for (const many of [1, 2, 3]) {
      const these = await started(many, { NAME: 'throughput', IDS: '5000' });
      const before = sum(these, 'runs');
      const since = performance.now();
      await pause(8_000);
      rates.push(((sum(these, 'runs') - before) / (performance.now() - since)) * 1_000);
      await stop(these);
    }
    const [one = NaN, two = NaN, three = NaN] = rates;
    console.log(
      `runs a second by 1, 2 and 3 replicas: ${rates.map(Math.round).join(', ')}; of linear: ${(two / one / 2).toFixed(2)}, ${(three / one / 3).toFixed(2)}`,
    );
    // 0.9 is the aim, and what a quiet machine shows.
    expect(two / one / 2).toBeGreaterThan(0.75);
    expect(three / one / 3).toBeGreaterThan(0.75);
  });

  it(
    'should ask for no more than one thing a second, and use no CPU to speak of, to own 64 shards that idle',
    { timeout: 120_000 },
    async () => {
      const transactions = async (): Promise<number> => {
        const { rows } = await pool.query<{ count: string }>(
          'SELECT sum(xact_commit) AS count FROM pg_stat_database WHERE datname = current_database()',
        );
        return Number(rows[0]?.count);
      };
      /** How many a second, with those that ask for it here, and those of PostgreSQL itself. */
      const rate = async (ms: number): Promise<number> => {
        const [before, since] = [await transactions(), performance.now()];
        await pause(ms);
        return ((await transactions()) - before) / ((performance.now() - since) / 1_000);
      };
      const others = await rate(10_000);
      const these = await started(1, { NAME: 'idle' });
      await pause(5_000);
      const [cpu, since] = [sum(these, 'cpu'), performance.now()];
      const asked = (await rate(20_000)) - others;
      const used = (sum(these, 'cpu') - cpu) / (performance.now() - since);
      console.log(`64 shards that idle: ${asked.toFixed(2)} transactions a second, ${(100 * used).toFixed(2)} % of a CPU`);
      // One a second, each a bit sooner or later; what others ask for varies, too.
      expect(asked).toBeLessThan(1.5);
      expect(used).toBeLessThan(0.03);
      await stop(these);
    },
  );
});
