import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EtcdServer, etcdServer, EtcdView, hasEtcd } from '../support/etcd-server.js';
import { until } from '../support/until.js';
import { type Replica, replica } from './replicas.js';
import { onlyInIntegration, seconds } from './support.js';

const COUNT = 64;
/** What the replicas are given, in ms; etcd grants whole seconds. */
const [ttl, retry] = [6_000, 500];
/** H3, for one death: and what a busy machine takes to do it. */
const BOUND = ttl + 1_000 + 1.2 * retry + 2_000;

describe.runIf(onlyInIntegration && hasEtcd)('replicas that share by etcd', () => {
  let server: EtcdServer;
  let etcd: EtcdView;
  const replicas: Replica[] = [];

  beforeAll(async () => {
    server = await etcdServer();
    etcd = new EtcdView(server.url);
  });
  afterAll(async () => {
    for (const { kill } of replicas) kill('SIGKILL');
    await server.stop();
  });

  const start = (): Replica => {
    const started = replica(`r${replicas.length}`, '', { ETCD_URL: server.url }, 'etcd-replica.ts');
    replicas.push(started);
    return started;
  };
  const alive = () => replicas.filter(({ isAlive }) => isAlive);

  /** How many shards each session holds, those of nobody left out. */
  const sizes = async (): Promise<number[]> => {
    const held = new Map<string, number>();
    for (const { lease } of await etcd.list('kreconciler/shards/chaos/owners/')) held.set(lease, (held.get(lease) ?? 0) + 1);
    return [...held.values()];
  };
  const isEven = (members: number) =>
    until('all is owned, and evenly', async () => {
      const now = await sizes();
      const total = now.reduce((sum, size) => sum + size, 0);
      return now.length === members && total === COUNT && Math.max(...now) - Math.min(...now) <= 1;
    });

  /** For how long some shard had no owner after `change`, in ms. */
  const unowned = async (change: () => unknown): Promise<number> => {
    await change();
    let [since, longest] = [undefined as number | undefined, 0];
    const begun = performance.now();
    while (performance.now() - begun < BOUND) {
      const isWhole = (await sizes()).reduce((sum, size) => sum + size, 0) === COUNT;
      if (isWhole) since = undefined;
      else longest = Math.max(longest, performance.now() - (since ??= performance.now()));
      await pause(20);
    }
    return longest;
  };

  it('H1, H3, H4 should never run one shard twice, and follow each that dies, freezes or goes', { timeout: 600_000 }, async () => {
    const times: Record<string, number[]> = { killed: [], frozen: [], stopped: [] };
    const begun = performance.now();
    for (let i = 0; i < 3; i++) start();
    await isEven(3);
    for (let round = 0; performance.now() - begun < seconds * 1_000 || round < 3; round++) {
      const victim = alive()[round % alive().length]!;
      const kind = (['killed', 'frozen', 'stopped'] as const)[round % 3]!;
      const gap = await unowned(() => victim.kill(({ killed: 'SIGKILL', frozen: 'SIGSTOP', stopped: 'SIGTERM' } as const)[kind]));
      times[kind]!.push(Math.round(gap));
      // Who dies is not missed at once, but once etcd has ended its lease: the time counts from there.
      expect(gap).toBeLessThan(kind === 'stopped' ? BOUND / 2 : BOUND);
      if (kind === 'frozen') {
        victim.kill('SIGCONT');
        await isEven(3);
      } else {
        await victim.ended;
        await isEven(2);
        start();
        await isEven(3);
      }
    }
    await server.restart();
    await isEven(3);
    console.log('the longest that a shard had no owner, in ms, by what happened:', JSON.stringify(times));

    // What was accepted, in the order of etcd: a term of a shard ends before the next begins.
    type Kv = { readonly key: string; readonly create_revision: string; readonly mod_revision: string };
    const { kvs = [] } = await etcd.ask<{ kvs?: Kv[] }>('kv/range', { key: btoa('log/'), range_end: btoa('log0') });
    const written = kvs.map(({ key, create_revision, mod_revision }) => {
      const [, shard, term] = atob(key).split('/').map(Number);
      return { shard: shard!, term: term!, first: Number(create_revision), last: Number(mod_revision) };
    });
    expect(new Set(written.map(({ shard }) => shard)).size).toBe(COUNT);
    for (const one of written) {
      const next = written.filter(({ shard, term }) => shard === one.shard && term > one.term);
      for (const { first } of next) expect(first).toBeGreaterThan(one.last);
    }
    for (const { kill } of alive()) kill('SIGTERM');
    expect(await Promise.all(alive().map(({ ended }) => ended))).toEqual([0, 0, 0]);
    // At once; or, where etcd was too slow to hear it, when the time to live has passed.
    await until('only the count is left', async () => (await etcd.list('kreconciler/')).length === 1);
  });
});
