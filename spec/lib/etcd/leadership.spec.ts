import { concat, NEVER, type Subscription } from 'rxjs';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { constant, noopLogger, observability, type Term } from 'kreconciler';
import { type FetchLike, leadership, type LeadershipConfig } from 'kreconciler/etcd';
import { virtualTime } from 'kreconciler/testing';
import { controlled } from '../../support/controlled.js';
import { deferred } from '../../support/deferred.js';
import { EtcdStandIn } from '../../support/etcd-stand-in.js';
import { type EtcdServer, etcdCluster, etcdServer, EtcdView, hasEtcd } from '../../support/etcd-server.js';
import { flakyProxy } from '../../support/flaky-proxy.js';

const quiet = observability({ logger: noopLogger });
/** Real time on a real server: etcd grants no less than 2 s. */
const quick = { ttl: 2_000, retry: 200, backoff: constant(50), observability: quiet };

/** Until `holds` throws no more. */
function eventually(holds: () => unknown): Promise<unknown> {
  return vi.waitFor(holds, { timeout: 30_000, interval: 5 });
}

let subscriptions: Subscription[] = [];
let names = 0;
afterEach(() => {
  for (const subscription of subscriptions) subscription.unsubscribe();
  subscriptions = [];
});

function aName(): string {
  return `name/${names++} % of "x"`;
}

/** One that competes, and all it has said so far. */
function replica(config: LeadershipConfig) {
  const said: (Term | false)[] = [];
  const subscription = leadership({ ...quick, ...config }).subscribe((leads) => said.push(leads));
  subscriptions.push(subscription);
  return {
    said,
    leads: () => eventually(() => expect(said.at(-1)).toHaveProperty('term')),
    isLost: () => eventually(() => expect(said.at(-1)).toBe(false)),
    term: () => (said.at(-1) as Term).term,
    stepDown: () => subscription.unsubscribe(),
  };
}

describe.runIf(hasEtcd)('leadership by etcd', () => {
  let server: EtcdServer;
  let etcd: EtcdView;
  let url: string;

  beforeAll(async () => {
    server = await etcdServer();
    url = server.url;
    etcd = new EtcdView(url);
  });
  afterAll(() => server.stop());

  /** The revisions at which the key of a name was created: one, or none. */
  async function holders(name: string): Promise<number[]> {
    const key = `kreconciler/leadership/${name.replaceAll('%', '%25').replaceAll('/', '%2F')}`;
    return (await etcd.list('kreconciler/leadership/')).filter((kv) => kv.key === key).map(({ revision }) => revision);
  }

  it('should say false first, and then the term, which is the revision of its key', async () => {
    const name = aName();
    const one = replica({ url, name });
    expect(one.said).toEqual([false]);
    await one.leads();
    expect(one.said).toEqual([false, { term: (await holders(name))[0] }]);
  });

  it('should have one leader at a time, a greater term each time, and hand over at once', async () => {
    const name = aName();
    const one = replica({ url, name });
    await one.leads();
    const others = [replica({ url, name, retry: 60_000 }), replica({ url, name, retry: 60_000 })];
    await eventually(async () => expect(await etcd.leases()).toHaveLength(3));
    expect(others.map(({ said }) => said)).toEqual([[false], [false]]);
    one.stepDown();
    await eventually(() => expect(others.flatMap(({ said }) => said)).toHaveLength(3));
    const next = others.find(({ said }) => said.length === 2)!;
    expect(next.term()).toBeGreaterThan(one.term());
  });

  it('should keep names and prefixes apart', async () => {
    const name = aName();
    await Promise.all([
      replica({ url, name }).leads(),
      replica({ url, name: `${name}/x` }).leads(),
      replica({ url, name, prefix: 'other/' }).leads(),
    ]);
  });

  it('should leave nothing behind when it is unsubscribed, at whatever moment', async () => {
    const name = aName();
    for (let ms = 0; ms < 40; ms += 4) {
      // What is left behind would last longer than this test waits.
      const one = replica({ url, name, ttl: 120_000 });
      await new Promise((resolve) => setTimeout(resolve, ms));
      one.stepDown();
    }
    await eventually(async () => expect([await holders(name), await etcd.leases()]).toEqual([[], []]));
  });

  it('H6 should say false before the key is gone, when etcd does not answer any more', async () => {
    const name = aName();
    const proxy = await flakyProxy(url);
    const one = replica({ name, url: proxy.url });
    await one.leads();
    const two = replica({ url, name });
    proxy.freeze();
    await one.isLost();
    expect(two.said).toEqual([false]);
    expect(await holders(name)).toEqual([one.said.flatMap((said) => (said === false ? [] : [said.term]))[0]]);
    await two.leads();
    proxy.thaw();
    two.stepDown();
    await one.leads();
    one.stepDown();
    await proxy.close();
  });

  it('should not mind an etcd that is away for less than it lasts', async () => {
    const name = aName();
    const one = replica({ url, name, ttl: 20_000 });
    await one.leads();
    await server.restart();
    server.signal('SIGSTOP');
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    server.signal('SIGCONT');
    await server.restart();
    expect(one.said).toHaveLength(2);
  });

  it('should lead in a new term after etcd was away for longer', async () => {
    const name = aName();
    const one = replica({ url, name });
    await one.leads();
    server.signal('SIGKILL');
    await one.isLost();
    await server.start();
    await one.leads();
    expect(one.said).toHaveLength(4);
    expect(one.term()).toBeGreaterThan((one.said[1] as Term).term);
  });

  it('should say false, and lead in a new term, when its key is deleted by hand', async () => {
    const name = 'plain';
    const one = replica({ url, name });
    await one.leads();
    const first = one.term();
    await etcd.delete('kreconciler/leadership/plain');
    await eventually(() => expect(one.term()).toBeGreaterThan(first));
  });

  it('should let a write that checks the revision refuse an old leader', async () => {
    const name = 'fenced';
    const key = btoa('kreconciler/leadership/fenced');
    const write = async (term: number, value: string) => {
      const { succeeded = false } = await etcd.ask<{ succeeded?: boolean }>('kv/txn', {
        compare: [{ key, target: 'CREATE', create_revision: term }],
        success: [{ request_put: { key: btoa('target'), value: btoa(value) } }],
      });
      return succeeded;
    };
    const one = replica({ url, name });
    await one.leads();
    expect(await write(one.term(), 'by 1')).toBe(true);
    const two = replica({ url, name });
    one.stepDown();
    await two.leads();
    expect(await write(one.term(), 'late')).toBe(false);
    expect(await write(two.term(), 'by 2')).toBe(true);
  });

  it('should go on with the other members when one dies', async () => {
    const members = await etcdCluster(3);
    const urls = members.map(({ url }) => url);
    const one = replica({ url: urls, name: 'x', ttl: 10_000 });
    await one.leads();
    members[0]!.signal('SIGKILL');
    const two = replica({ url: urls, name: 'x', ttl: 10_000 });
    await new Promise((resolve) => setTimeout(resolve, 4_000));
    expect([one.said.length, two.said]).toEqual([2, [false]]);
    one.stepDown();
    await two.leads();
    two.stepDown();
    await Promise.all(members.map(({ stop }) => stop()));
  });

  it('should lead by the next endpoint, where the first is connected to and never answers', async () => {
    const silent = await flakyProxy(url);
    silent.freeze();
    const one = replica({ url: [silent.url, url], name: aName() });
    await one.leads();
    one.stepDown();
    await silent.close();
  });

  it('L5 should free the key only after the work of a Controller has stopped, whose reconciler has the term', async () => {
    const name = aName();
    const stop = new AbortController();
    const terms: unknown[] = [];
    const { promise, resolve } = deferred();
    const { controller, kinds } = controlled(
      (_, { term }) => {
        terms.push(term);
        return promise;
      },
      { ids: () => concat(['a'], NEVER) },
      { leader: leadership({ url, ...quick, name }) },
    );
    const done = controller.run(stop.signal);
    await eventually(() => expect(kinds()).toContain('started'));
    expect(terms).toEqual(await holders(name));
    stop.abort();
    const next = replica({ url, name });
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(next.said).toEqual([false]);
    resolve();
    await done;
    await next.leads();
  });
});

describe('leadership by a stand-in for etcd, in virtual time', () => {
  const config = { url: 'http://etcd', name: 'x', observability: quiet };

  it('H6 should say false three quarters of its time to live after the last answered request was sent, and no later', () =>
    virtualTime(async ({ scheduler, advance, now }) => {
      const etcd = new EtcdStandIn(scheduler);
      const said: [at: number, leads: Term | false][] = [];
      const leader = leadership({ ...config, fetch: etcd.fetch, scheduler, ttl: 8_000 }).subscribe((leads) => said.push([now(), leads]));
      await advance(5_000);
      expect(said).toEqual([
        [0, false],
        [4, { term: 2 }],
      ]);
      const renewed = etcd.requests.filter(({ path }) => path === 'lease/keepalive').at(-1)!.at;
      etcd.isSilent = true;
      // What is carried out and not answered counts for nothing here, though it does there.
      await advance(renewed + 6_000 - now() - 1);
      expect(said).toHaveLength(2);
      await advance(1);
      expect(said).toHaveLength(3);
      expect(etcd.list('kreconciler/')).toEqual({ 'leadership/x': 2 });
      leader.unsubscribe();
    }));

  it('should be followed within its time to live, a second and one look, where it dies and no watch tells', () =>
    virtualTime(async ({ scheduler, advance }) => {
      const etcd = new EtcdStandIn(scheduler);
      const alive = leadership({ ...config, fetch: etcd.fetch, scheduler });
      let isDead = false;
      const dying = leadership({ ...config, fetch: (...request) => (isDead ? new Promise(() => {}) : etcd.fetch(...request)), scheduler });
      const leader = dying.subscribe();
      await advance(100);
      const said: (Term | false)[] = [];
      const next = alive.subscribe((leads) => said.push(leads));
      await advance(5_000);
      isDead = true;
      await advance(8_000 + 1_000 + 2_400);
      expect(said).toEqual([false, { term: 4 }]);
      leader.unsubscribe();
      next.unsubscribe();
    }));

  it('should ask the next endpoint, where one does not answer in time, and stay with it in the sessions to come', () =>
    virtualTime(async ({ scheduler, advance }) => {
      const etcd = new EtcdStandIn(scheduler);
      const said: (Term | false)[] = [];
      let silent = 0;
      const fetch: FetchLike = (url, init) => {
        if (url.startsWith('http://etcd')) return etcd.fetch(url, init);
        silent++;
        return new Promise(() => {});
      };
      const url = ['http://silent', 'http://etcd'];
      const leader = leadership({ ...config, url, fetch, scheduler, deadline: 1_000 }).subscribe((leads) => said.push(leads));
      await advance(1_010);
      expect(said).toEqual([false, { term: 2 }]);
      etcd.endSomeLease(0);
      await advance(10_000);
      expect(said.slice(2)).toEqual([false, { term: 4 }]);
      expect(silent).toBe(1);
      leader.unsubscribe();
    }));

  it('should try ever more rarely where it may not create its key, and say why', () =>
    virtualTime(async ({ scheduler, advance }) => {
      const etcd = new EtcdStandIn(scheduler);
      etcd.refused = 'kv/txn';
      const warn = vi.fn();
      const backoff = vi.fn((failures: number) => failures * 100);
      const logged = observability({ logger: { ...noopLogger, warn } });
      const leader = leadership({ ...config, fetch: etcd.fetch, scheduler, backoff, observability: logged }).subscribe();
      await advance(1_000);
      expect(backoff.mock.calls.map(([failures]) => failures)).toEqual([1, 2, 3, 4]);
      expect(warn.mock.calls[0]).toEqual([
        'Leadership of x failed, trying again',
        {
          failures: 1,
          delay: 100,
          error: expect.objectContaining({ name: 'EtcdError', message: 'etcd at http://etcd refused: no' }) as Error,
        },
      ]);
      leader.unsubscribe();
      await advance(10);
      expect(etcd.list('')).toEqual({});
    }));

  it('should end a lease that is granted after it was unsubscribed', () =>
    virtualTime(async ({ scheduler, advance }) => {
      const etcd = new EtcdStandIn(scheduler, 1_000);
      const leader = leadership({ ...config, fetch: etcd.fetch, scheduler }).subscribe();
      await advance(500);
      leader.unsubscribe();
      await advance(500);
      expect(etcd.leases).toBe(1);
      await advance(1_000);
      expect(etcd.leases).toBe(0);
    }));

  it.each([
    ['is not granted', 5_000],
    ['is granted too late to be ended', 1_500],
  ])('P3 should wait no longer than its deadline for a lease that %s after it was unsubscribed', (_, latency) =>
    virtualTime(async ({ scheduler, advance }) => {
      const etcd = new EtcdStandIn(scheduler, latency);
      const open = new Set<AbortSignal>();
      const fetch: FetchLike = (url, init) => {
        open.add(init.signal);
        init.signal.addEventListener('abort', () => open.delete(init.signal));
        return etcd.fetch(url, init).finally(() => open.delete(init.signal));
      };
      const leader = leadership({ ...config, url: ['http://one', 'http://two'], fetch, scheduler, deadline: 2_000 }).subscribe();
      await advance(100);
      leader.unsubscribe();
      await advance(1_999);
      expect(open.size).toBe(1);
      await advance(1);
      expect(open.size).toBe(0);
      await advance(60_000);
      expect(open.size).toBe(0);
    }),
  );

  it('should cost no more than one request and a half a second while nothing happens', () =>
    virtualTime(async ({ scheduler, advance }) => {
      const etcd = new EtcdStandIn(scheduler);
      const leader = leadership({ ...config, fetch: etcd.fetch, scheduler }).subscribe();
      await advance(10_000);
      const before = etcd.requests.length;
      await advance(60_000);
      expect(etcd.requests.length - before).toBeLessThan(90);
      leader.unsubscribe();
    }));
});

describe('leadership by etcd, given nonsense', () => {
  it.each([
    [{ url: 'x' }, 'Expected `url` to be an http or https URL without a password, or a list of such, got `x` (string)'],
    [{ name: '' }, 'Expected `name` to be a non-empty string, got `` (string)'],
    [{ prefix: 5 }, 'Expected `prefix` to be a string, got `5` (number)'],
    [{ ttl: 0 }, 'Expected `ttl` to be a finite number of ms > 0, got `0` (number)'],
    [{ ttl: 8 }, 'Expected `ttl` to be at least 1000 ms, got `8` (number)'],
    [{ retry: '1' }, 'Expected `retry` to be a finite number of ms > 0, got `1` (string)'],
    [{ deadline: Infinity }, 'Expected `deadline` to be a finite number of ms > 0, got `Infinity` (number)'],
    [{ fetch: {} }, 'Expected `fetch` to be a function, got `{}` (object)'],
  ])('should name the field', (config, message) => {
    expect(() => leadership({ url: 'http://etcd', name: 'x', ...config } as LeadershipConfig)).toThrow(new TypeError(message));
  });
});
