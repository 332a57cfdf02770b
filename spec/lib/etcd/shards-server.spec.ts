import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { constant, noopLogger, observability } from 'kreconciler';
import { shards, type ShardsConfig } from 'kreconciler/etcd';
import { type EtcdServer, etcdServer, EtcdView, hasEtcd } from '../../support/etcd-server.js';
import { flakyProxy } from '../../support/flaky-proxy.js';
import { faultsOf, type Run, ShardsReplica } from '../../support/shards-replica.js';

const COUNT = 64;
/** Real time on a real server. A machine that is busy must not seem to be an etcd that does not answer: nothing is lost within 15 s. */
const patient = { ttl: 20_000, retry: 300, settle: 500, backoff: constant(50), observability: observability({ logger: noopLogger }) };

/** What is on its way may take long where much else goes on. */
const patience = { timeout: 30_000 };

/** For those who wait until etcd has given up a session. */
const quick = { ttl: 4_000 };

describe.runIf(hasEtcd)('shards by etcd', () => {
  let server: EtcdServer;
  let etcd: EtcdView;
  let replicas: ShardsReplica[] = [];
  let runs: Run[] = [];
  let names = 0;
  let name: string;

  beforeAll(async () => {
    server = await etcdServer();
    etcd = new EtcdView(server.url);
  });
  afterEach(() => {
    for (const replica of replicas) replica.stop();
    // Whatever was done to it in a test: no shard ran twice at once, and terms grew.
    expect(faultsOf(runs)).toEqual([]);
    replicas = [];
    runs = [];
  });
  afterAll(() => server.stop());

  /** One of those that share; the first of a test gives them a name of their own. */
  function replica(config: Partial<ShardsConfig> = {}): ShardsReplica {
    if (replicas.length === 0) name = `test ${names++}`;
    const source = shards({ url: server.url, name, count: COUNT, ...patient, ...config });
    const started = new ShardsReplica(source, { name: `r${replicas.length}`, now: () => performance.now(), runs });
    replicas.push(started);
    return started;
  }

  /** Until all is owned by these, and evenly. */
  function isEven(...among: readonly ShardsReplica[]): Promise<void> {
    return vi.waitFor(
      () => {
        const sizes = among.map(({ size }) => size);
        expect(sizes.reduce((sum, size) => sum + size)).toBe(COUNT);
        expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1);
      },
      { timeout: 40_000, interval: 20 },
    );
  }

  /** The terms that etcd has, by shard. */
  async function owners(): Promise<Record<string, number>> {
    const prefix = `kreconciler/shards/${name}/owners/`;
    return Object.fromEntries((await etcd.list(prefix)).map(({ key, revision }) => [key.slice(prefix.length), revision]));
  }

  it('H4 should share evenly, among those who come and those who stay', async () => {
    const [one, two] = [replica(), replica()];
    await isEven(one, two);
    const before = runs.length;
    const three = replica();
    await isEven(one, two, three);
    two.stop();
    await isEven(one, three);
    const running = [...one.holdings, ...three.holdings].map(([shard, { run }]) => [String(shard), run.term]);
    expect(await owners()).toEqual(Object.fromEntries(running));
    // 21 or 22 for the third, and as many of the second: nothing moved that need not. Whether the first had all before, who knows.
    expect(runs.length - before).toBeLessThanOrEqual(22 + 22);
  });

  it('H10 should leave nothing behind but the count', async () => {
    const one = replica();
    await isEven(one);
    one.stop();
    await vi.waitFor(async () => {
      const left = await etcd.list(`kreconciler/shards/${name}/`);
      expect(left.map(({ key, value }) => [key, value])).toEqual([[`kreconciler/shards/${name}/count`, '64']]);
    }, patience);
    await vi.waitFor(async () => expect(await etcd.leases()).toEqual([]), patience);
  });

  it('H6 should lose everything before another gets it, when etcd does not answer any more', async () => {
    const proxy = await flakyProxy(server.url);
    const [one, two] = [replica({ url: proxy.url, ...quick }), replica(quick)];
    await isEven(one, two);
    proxy.freeze();
    await isEven(two);
    expect(one.size).toBe(0);
    proxy.thaw();
    await isEven(one, two);
    one.stop();
    await proxy.close();
  });

  it('should get everything by the next endpoint, where the first is connected to and never answers', async () => {
    const silent = await flakyProxy(server.url);
    silent.freeze();
    const one = replica({ url: [silent.url, server.url], deadline: 500 });
    await isEven(one);
    one.stop();
    await silent.close();
  });

  it('should keep everything while etcd is away for less than it lasts', async () => {
    // Renewed every 5 s, so that one renewal meets the pause.
    const [one, two] = [replica(), replica()];
    await isEven(one, two);
    const before = runs.length;
    server.signal('SIGSTOP');
    await new Promise((resolve) => setTimeout(resolve, 5_500));
    server.signal('SIGCONT');
    const three = replica();
    await isEven(one, two, three);
    // All that moved went to the third, which had to ask etcd for it.
    expect(runs).toHaveLength(before + three.size);
  });

  it('should get everything again when etcd was away for longer than it lasts', async () => {
    const [one, two] = [replica(quick), replica(quick)];
    await isEven(one, two);
    server.signal('SIGKILL');
    await vi.waitFor(() => expect([one.size, two.size]).toEqual([0, 0]), { timeout: 30_000 });
    await server.start();
    await isEven(one, two);
  });

  it('should not mind that all of the past is compacted', async () => {
    const [one, two] = [replica(), replica()];
    await isEven(one, two);
    await etcd.compact();
    one.stop();
    await isEven(two);
  });

  it('H8 should refuse another count while there is a member', async () => {
    const one = replica();
    await isEven(one);
    const other = replica({ count: 32 });
    await vi.waitFor(
      () => expect(other.error).toMatchObject({ name: 'ShardCountError', message: expect.stringMatching(/\b64\b.*\b32\b/) as string }),
      patience,
    );
    one.stop();
    const next = replica({ count: 32 });
    await vi.waitFor(() => expect(next.size).toBe(32), { timeout: 20_000 });
  });
});
