import { type Observable, type Subscription, firstValueFrom, take, toArray } from 'rxjs';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { type ControllerContext, shardOf, type Term } from 'kreconciler';
import { leadership } from 'kreconciler/etcd';
import { type EtcdServer, etcdServer, EtcdView, hasEtcd } from '../../support/etcd-server.js';
import { ran } from '../../support/readmes.js';

describe.runIf(hasEtcd)('lib/etcd/README.md', () => {
  let server: EtcdServer;
  let etcd: EtcdView;
  const asked: string[] = [];
  const subscriptions: Subscription[] = [];

  beforeAll(async () => {
    server = await etcdServer();
    etcd = new EtcdView(server.url);
  });
  beforeEach(() => {
    const { fetch } = globalThis;
    // Whatever etcd is called in the document, it is ours; but for the second of three.
    vi.stubGlobal('fetch', (url: string, init: RequestInit) => {
      asked.push(url);
      return url.includes('etcd-0')
        ? Promise.reject(new Error('away'))
        : fetch(url.replace(/^https?:\/\/etcd(-\d)?:2379/, server.url), init);
    });
  });
  afterEach(() => {
    for (const subscription of subscriptions.splice(0)) subscription.unsubscribe();
  });
  afterAll(() => server.stop());

  it('should show how to lead and to follow keys, by the endpoint that answers', async () => {
    await etcd.put('zones/example.org');
    const stop = new AbortController();
    const reconciled: unknown[] = [];
    const reconciler = (id: string, { term }: { term: number }) => {
      reconciled.push([id, term]);
      stop.abort();
    };
    await ran('etcd-leadership', { reconciler, signal: stop.signal });
    expect(reconciled).toEqual([['example.org', expect.any(Number)]]);
  });

  it('should show a write that only the leader of this term can make', async () => {
    const { write } = await ran('etcd-fenced', { Buffer, fetch }, ['write']);
    const leads = await new Promise<Term>((resolve) => {
      const leader = leadership({ url: server.url, name: 'dns' });
      subscriptions.push(leader.subscribe((leads) => leads !== false && resolve(leads)));
    });
    const fenced = write as (key: string, value: string, term: number) => Promise<boolean>;
    expect(await fenced('a', 'late', leads.term - 1)).toBe(false);
    expect(await fenced('a', 'in time', leads.term)).toBe(true);
    expect(await etcd.list('a')).toMatchObject([{ value: 'in time' }]);
  });

  it('should show a Controller that is given all shards where it is alone, and reconciles the ids of each', async () => {
    const stop = new AbortController();
    const reconciled: string[] = [];
    const ids = ['example.org', 'example.net', 'example.com'];
    const reconciler = (id: string, { shard, term }: ControllerContext) => {
      expect([shard, typeof term]).toEqual([shardOf(id, 64), 'number']);
      if (reconciled.push(id) === ids.length) stop.abort();
    };
    await ran('etcd-shards', { reconciler, allIds: async () => ids, signal: stop.signal });
    expect(reconciled.sort()).toEqual([...ids].sort());
  });

  it('should show a fetch that brings a token', async () => {
    await etcd.put('zones/a');
    await etcd.ask('auth/role/add', { name: 'root' });
    for (const name of ['root', 'dns']) {
      await etcd.ask('auth/user/add', { name, password: 'secret' });
      await etcd.ask('auth/user/grant', { user: name, role: 'root' });
    }
    await etcd.ask('auth/enable', {});
    const { zones$ } = await ran('etcd-token', { fetch, process: { env: { ETCD_PASSWORD: 'secret' } } }, ['zones$']);
    expect(await firstValueFrom((zones$ as Observable<string>).pipe(take(1), toArray()))).toEqual(['a']);
    expect(asked).toContain('https://etcd:2379/v3/auth/authenticate');
  });
});
