import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Database, database } from '../../examples/postgres/database.js';
import { type EtcdServer, etcdServer, hasEtcd } from '../support/etcd-server.js';
import { type FencedReplica, fencedReplica, isEven, isWhole, ownedBy, refusedTo } from '../support/fenced-replicas.js';
import { changeRows, createRows, drifted, faultsOfWrites } from '../support/fenced-writes.js';
import { type FlakyProxy, flakyProxy } from '../support/flaky-proxy.js';
import { until } from '../support/until.js';
import { onlyInIntegration } from './support.js';

const [COUNT, ROWS] = [64, 10_000];
/** How long the chaos goes on: two minutes, as one round of all that can happen takes about one. */
const seconds = Number(process.env['FOR'] ?? 120);
/** What `shards` is given: nothing, so that the defaults are what is proven, and times by which etcd fits into two minutes. */
const SHARDS = { postgres: {}, etcd: { ttl: 6_000, retry: 500, settle: 2_000 } };
/** What a busy machine takes for what needs no time by the formulas. */
const SLACK = 2_000;

type Kind = 'killed' | 'frozen' | 'silent' | 'stopped' | 'restarted';

/** How long a shard may be without an owner that works, in ms (H3). */
const BOUNDS: Readonly<Record<'postgres' | 'etcd', Readonly<Record<Kind, number>>>> = {
  // By retry and heartbeat of 1 s and a deadline of 2 s.
  postgres: { killed: 3_200, frozen: 8_400, silent: 8_400, stopped: 3_200, restarted: 5_000 + 8_000 },
  // By a ttl of 6 s and a retry of 0.5 s.
  etcd: { killed: 7_500, frozen: 7_500, silent: 7_500, stopped: 7_500, restarted: 5_000 + 7_500 },
};

/** A replica, and its connection to what shares the shards out. */
type Member = FencedReplica & { readonly proxy: FlakyProxy };

interface Engine {
  readonly url: string;
  restart(): Promise<void>;
  stop(): Promise<void>;
}

const engines = {
  postgres: { isThere: true, start: (server: Database): Promise<Engine> => Promise.resolve({ ...server, stop: () => Promise.resolve() }) },
  etcd: { isThere: hasEtcd, start: (): Promise<EtcdServer> => etcdServer() },
};

for (const name of ['postgres', 'etcd'] as const) {
  describe.runIf(onlyInIntegration && engines[name].isThere)(`replicas that share ${ROWS} ids by shards of ${name}`, () => {
    let server: Database;
    let engine: Engine;
    let pool: pg.Pool;
    const members: Member[] = [];

    beforeEach(async () => {
      server = await database();
      engine = await engines[name].start(server);
      pool = new pg.Pool({ connectionString: server.url });
      pool.on('error', () => undefined);
      await createRows(pool, ROWS);
    });
    afterEach(async () => {
      for (const { kill, proxy } of members.splice(0)) {
        kill('SIGKILL');
        await proxy.close();
      }
      await pool.end();
      await engine.stop();
      await server.stop();
    });

    const start = async (): Promise<Member> => {
      const proxy = await flakyProxy(engine.url);
      const settings = { engine: name, engineUrl: proxy.url, shards: SHARDS[name], takes: 100 };
      const member = Object.assign(fencedReplica(`r${members.length}`, server.url, settings), { proxy });
      members.push(member);
      return member;
    };
    const alive = (): Member[] => members.filter(({ isAlive }) => isAlive);

    const evenly = (by: readonly Member[]) => until(`${by.length} replicas own all, and evenly`, () => isEven(by, COUNT), 60_000);
    /** What changes hands must not be taken from one that stays and given to another that stays (H4, H7). */
    const undisturbed = async (staying: readonly Member[], change: () => Promise<unknown>): Promise<void> => {
      const before = staying.map(ownedBy);
      await change();
      const after = staying.map(ownedBy);
      for (const [i, held] of after.entries()) {
        for (const [shard, term] of held) {
          const owner = before.findIndex((owned) => owned.has(shard));
          if (owner === -1) continue;
          expect([shard, owner, before[owner]!.get(shard)]).toEqual([shard, i, term]);
        }
      }
    };

    it(
      'H1, H3, H4, H7, H9, H10 should keep each id by one of them, whatever happens to them, to their connections, and to it',
      { timeout: (seconds + 300) * 1_000 },
      async () => {
        const unowned: Record<Kind, number[]> = { killed: [], frozen: [], silent: [], stopped: [], restarted: [] };
        for (let i = 0; i < 5; i++) await start();
        await evenly(alive());

        const over = AbortSignal.timeout(seconds * 1_000);
        const changing = changeRows(pool, { rows: ROWS, every: 10, over });

        /** Until all is owned by these again. */
        const measured = async (kind: Kind, by: readonly Member[], harm: () => unknown): Promise<void> => {
          const since = performance.now();
          await harm();
          await until(`all is owned again, ${kind}`, () => isWhole(by, COUNT), 60_000);
          unowned[kind].push(performance.now() - since);
        };
        const others = (than: Member): Member[] => alive().filter((member) => member !== than);
        const harm: Record<Kind, (victim: Member) => Promise<unknown>> = {
          killed: async (victim) => {
            const staying = others(victim);
            await undisturbed(staying, () => measured('killed', staying, () => victim.kill('SIGKILL')));
            await evenly(staying);
            await undisturbed(staying, async () => evenly([...staying, await start()]));
          },
          frozen: async (victim) => {
            const staying = others(victim);
            await undisturbed(staying, () => measured('frozen', staying, () => victim.kill('SIGSTOP')));
            // The new owners write already when the old one wakes up and writes what it had in mind.
            await pause(1_000);
            victim.kill('SIGCONT');
            await evenly(alive());
          },
          silent: async (victim) => {
            const staying = others(victim);
            await undisturbed(staying, () => measured('silent', staying, () => victim.proxy.freeze()));
            victim.proxy.thaw();
            await evenly(alive());
          },
          restarted: async () => {
            await measured('restarted', alive(), async () => {
              await engine.restart();
              // Who lost everything says so before it owns again.
              await pause(200);
            });
            await evenly(alive());
          },
          // A rolling deploy: from five to two, to three, to five.
          stopped: async () => {
            for (const victim of alive().slice(0, 3)) {
              const staying = others(victim);
              await undisturbed(staying, () => measured('stopped', staying, () => victim.kill('SIGTERM')));
              expect(await victim.ended).toBe(0);
            }
            for (const more of [1, 2]) {
              for (let i = 0; i < more; i++) await start();
              await evenly(alive());
            }
          },
        };
        for (let round = 0; !over.aborted || round < 5; round++) {
          const kind = (['killed', 'frozen', 'silent', 'stopped', 'restarted'] as const)[round % 5]!;
          await harm[kind](alive()[round % alive().length]!);
        }
        const changes = await changing;
        await until('every row is as it is wanted', async () => (await drifted(pool)).length === 0, 60_000);
        expect(await faultsOfWrites(pool)).toEqual([]);

        const {
          rows: [count],
        } = await pool.query<{ writes: string; holdings: string }>(
          'SELECT count(*) AS writes, count(DISTINCT (shard, term)) AS holdings FROM writes',
        );
        const refused = members.flatMap((member) => refusedTo(member));
        console.log(`${name}: ${changes} changes, ${count!.writes} writes in ${count!.holdings} holdings, ${refused.length} refused`);
        for (const [kind, times] of Object.entries(unowned) as [Kind, number[]][]) {
          const sorted = times.sort((a, b) => a - b);
          const worst = sorted.at(-1)!;
          const median = sorted[Math.floor(sorted.length / 2)]!;
          console.log(
            `${name}: ${kind}: owned again after ${median.toFixed()} ms (median), ${worst.toFixed()} ms (worst), bound ${BOUNDS[name][kind]} ms (${sorted.length} times)`,
          );
          expect(worst).toBeLessThan(BOUNDS[name][kind] + SLACK);
        }

        const last = alive();
        for (const { kill } of last) kill('SIGTERM');
        expect(await Promise.all(last.map(({ ended }) => ended))).toEqual(last.map(() => 0));
      },
    );
  });
}
