import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Database, database } from '../../../examples/postgres/database.js';

let server: Database;
let pool: pg.Pool;
let children: ChildProcess[] = [];

beforeAll(async () => {
  server = await database();
  pool = new pg.Pool({ connectionString: server.url });
  pool.on('error', () => undefined);
  await pool.query('CREATE TABLE writes (seq bigserial PRIMARY KEY, shard int, term bigint, pid int)');
});
afterEach(async () => {
  for (const child of children) {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  }
  children = [];
});
afterAll(async () => {
  await pool.end();
  await server.stop();
});

/** A member in a process of its own, and what it owns by what it has said. */
function member() {
  const program = fileURLToPath(new URL('../../support/process/shard-member.ts', import.meta.url));
  const child = spawn(process.execPath, ['--import', 'tsx', program, server.url, '1000'], { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  const owned = new Set<number>();
  const lines: Record<string, number>[] = [];
  createInterface({ input: child.stdout }).on('line', (text) => {
    const line = JSON.parse(text) as Record<string, number>;
    lines.push(line);
    if (line['takes'] !== undefined) owned.add(line['takes']);
    owned.delete(line['lost'] ?? -1);
    owned.delete(line['frees'] ?? -1);
  });
  return { child, owned, lines, ended: once(child, 'exit') };
}

type Process = ReturnType<typeof member>;

/** All shards are owned, each by one, and evenly. */
function shared(...of: readonly Process[]): Promise<unknown> {
  return vi.waitFor(
    () => {
      expect(of.flatMap(({ owned }) => [...owned]).sort()).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
      const sizes = of.map(({ owned }) => owned.size);
      expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1);
    },
    { timeout: 60_000, interval: 10 },
  );
}

/** Of all writes that PostgreSQL took: no two processes wrote in one term of a shard, and none in an older one than before. */
async function expectNoOverlap(): Promise<void> {
  const { rows: backwards } = await pool.query(
    'SELECT * FROM (SELECT *, lag(term) OVER (PARTITION BY shard ORDER BY seq) AS before FROM writes) AS w WHERE before > term',
  );
  expect(backwards).toEqual([]);
  const { rows: twice } = await pool.query('SELECT shard, term FROM writes GROUP BY shard, term HAVING count(DISTINCT pid) > 1');
  expect(twice).toEqual([]);
  const { rows } = await pool.query('SELECT count(*)::int AS writes FROM writes');
  expect(rows[0]).not.toEqual({ writes: 0 });
}

describe('shards, of processes', () => {
  it(
    'H1, H3 should follow one that is killed, and one that is frozen, and refuse what that one writes when it wakes up',
    { timeout: 180_000 },
    async () => {
      const [one, two, three] = [member(), member(), member()];
      await shared(one, two, three);
      one.child.kill('SIGKILL');
      await shared(two, three);

      two.child.kill('SIGSTOP');
      const frozen = [...two.owned];
      await vi.waitFor(() => expect([...three.owned].sort()).toEqual([0, 1, 2, 3, 4, 5, 6, 7]), { timeout: 60_000, interval: 10 });
      // The new owner writes already when the old one wakes up, and writes what it had in mind.
      const since = two.lines.length;
      two.child.kill('SIGCONT');
      await vi.waitFor(() => expect(two.lines.slice(since).filter(({ lost }) => lost !== undefined)).toHaveLength(frozen.length), {
        timeout: 60_000,
      });
      await shared(two, three);
      await expectNoOverlap();

      two.child.kill('SIGTERM');
      await shared(three);
      expect(await two.ended).toEqual([0, null]);
      three.child.kill('SIGTERM');
      expect(await three.ended).toEqual([0, null]);
      await expectNoOverlap();
    },
  );
});
