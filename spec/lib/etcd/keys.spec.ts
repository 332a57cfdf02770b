import { lastValueFrom, type Subscription, take, toArray } from 'rxjs';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { constant, type LogFields, noopLogger, observability, ofKind, reconcile } from 'kreconciler';
import { keys, type KeysConfig } from 'kreconciler/etcd';
import { type EtcdServer, etcdServer, EtcdView, hasEtcd } from '../../support/etcd-server.js';
import { flakyProxy } from '../../support/flaky-proxy.js';

/** Real time on a real server; but a machine that is busy must not seem to be a server that does not answer. */
const quick = { heartbeat: 50, deadline: 10_000, backoff: constant(20), observability: observability({ logger: noopLogger }) };

/** A logger that keeps what it is given. */
function memory() {
  const lines: { readonly message: string; readonly fields: LogFields | undefined }[] = [];
  const warn = (message: string, fields?: LogFields) => lines.push({ message, fields });
  return { lines, observability: observability({ logger: { ...noopLogger, warn } }) };
}

/** A `fetch` whose watches say nothing any more from the moment on at which they are silenced; those opened later do. */
function silenced() {
  let isSilent = false;
  let hasBegun = false;
  const fetching: KeysConfig['fetch'] = async (url, init) => {
    const response = await fetch(url, init);
    if (!url.endsWith('/watch') || isSilent) return response;
    const reader = response.body!.getReader();
    const read = async () => {
      const chunk = await reader.read();
      hasBegun = true;
      return isSilent ? new Promise<never>(() => {}) : chunk;
    };
    return { ok: true, status: 200, text: () => Promise.resolve(''), body: { getReader: () => ({ read }) } };
  };
  /** Once there is a watch that can go silent. */
  const silence = async () => {
    await eventually(() => expect(hasBegun).toBe(true));
    isSilent = true;
  };
  return { fetch: fetching, silence };
}

/** Until `holds` throws no more. */
function eventually(holds: () => unknown): Promise<unknown> {
  return vi.waitFor(holds, { timeout: 30_000, interval: 5 });
}

describe.runIf(hasEtcd)('keys', () => {
  let server: EtcdServer;
  let etcd: EtcdView;
  let subscriptions: Subscription[] = [];
  let prefixes = 0;

  beforeAll(async () => {
    server = await etcdServer();
    etcd = new EtcdView(server.url);
  });
  afterEach(() => {
    for (const subscription of subscriptions) subscription.unsubscribe();
    subscriptions = [];
  });
  afterAll(() => server.stop());

  function aPrefix(): string {
    return `prefix ${prefixes++}/`;
  }

  /** One that follows the keys, and all it has heard so far. */
  function follower(config: Partial<KeysConfig> & { readonly prefix: string }) {
    const heard: string[] = [];
    const subscription = keys({ url: server.url, ...quick, ...config }).subscribe((id) => heard.push(id));
    subscriptions.push(subscription);
    return {
      heard,
      hears: (...ids: readonly string[]) => eventually(() => expect(heard).toEqual(ids)),
      stop: () => subscription.unsubscribe(),
    };
  }

  it('should emit what is there, and then what is written and deleted, in order', async () => {
    const prefix = aPrefix();
    await etcd.put(`${prefix}b`);
    await etcd.put(`${prefix}a`);
    await etcd.put(`other ${prefix}x`);
    const one = follower({ prefix });
    await one.hears('a', 'b');
    await etcd.put(`${prefix}c`);
    await etcd.delete(`${prefix}a`);
    await etcd.put(`${prefix}__proto__`);
    await one.hears('a', 'b', 'c', 'a', '__proto__');
  });

  it('should take any text for a prefix and an id', async () => {
    const prefix = `ü ${aPrefix()}`;
    const one = follower({ prefix });
    await etcd.ask('kv/put', { key: Buffer.from(`${prefix}€ 😀`).toString('base64') });
    await one.hears('€ 😀');
  });

  it('should take a byte order mark at the beginning of a key for a part of it', async () => {
    const prefix = `\ufeff${aPrefix()}`;
    await etcd.ask('kv/put', { key: Buffer.from(`${prefix}\ufeffid`).toString('base64') });
    await follower({ prefix }).hears('\ufeffid');
    const all = follower({ prefix: '' });
    await eventually(() => expect(all.heard).toContain(`${prefix}\ufeffid`));
  });

  it('should list everything of one moment, however much it is', async () => {
    const prefix = aPrefix();
    const ids = Array.from({ length: 2_500 }, (_, i) => `id-${String(i).padStart(4, '0')}`);
    for (let i = 0; i < ids.length; i += 100) {
      await etcd.ask('kv/txn', { success: ids.slice(i, i + 100).map((id) => ({ request_put: { key: btoa(prefix + id) } })) });
    }
    await follower({ prefix }).hears(...ids);
  });

  it('should mean all keys by no prefix', async () => {
    await etcd.put('!first');
    const one = follower({ prefix: '' });
    await eventually(() => expect(one.heard).toContain('!first'));
  });

  it('should lose nothing when the watch is made anew', async () => {
    const prefix = aPrefix();
    const one = follower({ prefix, heartbeat: 1 });
    const ids = Array.from({ length: 200 }, (_, i) => `id-${i}`);
    for (const id of ids) await etcd.put(prefix + id);
    await one.hears(...ids);
  });

  it('should list again, and emit what has gone, when what it missed is compacted', async () => {
    const prefix = aPrefix();
    const { lines, observability } = memory();
    const { fetch, silence } = silenced();
    await etcd.put(`${prefix}stays`);
    await etcd.put(`${prefix}goes`);
    const one = follower({ prefix, observability, heartbeat: 500, fetch });
    await one.hears('goes', 'stays');
    await silence();
    await etcd.delete(`${prefix}goes`);
    await etcd.put(`${prefix}comes`);
    await etcd.compact();
    await one.hears('goes', 'stays', 'comes', 'stays', 'goes');
    expect(lines).toMatchObject([
      {
        message: `Watching the keys of etcd that begin with \`${prefix}\` failed, trying again`,
        fields: { failures: 1, error: { message: expect.stringMatching(/^etcd has compacted what was to be watched/) as string } },
      },
    ]);
    await etcd.put(`${prefix}goes`);
    await one.hears('goes', 'stays', 'comes', 'stays', 'goes', 'goes');
  });

  it('should lose nothing when its watch goes silent without a word', async () => {
    const prefix = aPrefix();
    const { lines, observability } = memory();
    const { fetch, silence } = silenced();
    const one = follower({ prefix, observability, heartbeat: 500, fetch });
    await etcd.put(`${prefix}before`);
    await one.hears('before');
    await silence();
    await etcd.put(`${prefix}meanwhile`);
    await one.hears('before', 'meanwhile');
    expect(lines).toEqual([]);
  });

  it('should list again when etcd has not answered', async () => {
    const prefix = aPrefix();
    const proxy = await flakyProxy(server.url);
    const { lines, observability } = memory();
    const one = follower({ prefix, url: proxy.url, observability, deadline: 500 });
    await etcd.put(`${prefix}a`);
    await one.hears('a');
    proxy.freeze();
    await eventually(() => expect(lines).not.toHaveLength(0));
    expect(lines[0]).toMatchObject({
      message: `Watching the keys of etcd that begin with \`${prefix}\` failed, trying again`,
      fields: { failures: 1, delay: 20, error: { message: `etcd at ${proxy.url.replace(/\/$/, '')} did not answer within 500 ms` } },
    });
    proxy.thaw();
    await one.hears('a', 'a');
    one.stop();
    await proxy.close();
  });

  it('should go on at the next endpoint, without a word, where the first cannot be reached', async () => {
    const prefix = aPrefix();
    const { lines, observability } = memory();
    const one = follower({ prefix, url: ['http://127.0.0.1:1', server.url], observability });
    await etcd.put(`${prefix}a`);
    await one.hears('a');
    expect(lines).toEqual([]);
  });

  it('should go on at the next endpoint, without a word, where the first is connected to and never answers', async () => {
    const prefix = aPrefix();
    const silent = await flakyProxy(server.url);
    silent.freeze();
    const { lines, observability } = memory();
    const one = follower({ prefix, url: [silent.url, server.url], observability, deadline: 500 });
    await etcd.put(`${prefix}a`);
    await one.hears('a');
    expect(lines).toEqual([]);
    one.stop();
    await silent.close();
  });

  it('should survive a restart of etcd', async () => {
    const prefix = aPrefix();
    await etcd.put(`${prefix}a`);
    const one = follower({ prefix });
    await one.hears('a');
    await server.restart();
    await one.hears('a', 'a');
    await etcd.put(`${prefix}b`);
    await one.hears('a', 'a', 'b');
  });

  it('should list again where etcd has been set back to an older state, and emit what has gone with it', async () => {
    const prefix = aPrefix();
    const [old, young] = [await etcdServer(), await etcdServer()];
    for (const id of ['a', 'b']) await new EtcdView(old.url).put(prefix + id);
    await new EtcdView(young.url).put(`${prefix}a`);
    let url = old.url;
    // The same address, and another server behind it.
    const fetched: KeysConfig['fetch'] = (asked, init) => fetch(asked.replace('http://etcd', url), init);
    const one = follower({ prefix, url: 'http://etcd', fetch: fetched });
    await one.hears('a', 'b');
    url = young.url;
    await one.hears('a', 'b', 'a', 'b');
    await new EtcdView(young.url).put(`${prefix}c`);
    await one.hears('a', 'b', 'a', 'b', 'c');
    one.stop();
    await Promise.all([old.stop(), young.stop()]);
  });

  it('should be let in with a token that its fetch brings', async () => {
    const closed = await etcdServer();
    const root = new EtcdView(closed.url);
    await root.put('a/1');
    await root.ask('auth/user/add', { name: 'root', password: 'secret' });
    await root.ask('auth/role/add', { name: 'root' });
    await root.ask('auth/user/grant', { user: 'root', role: 'root' });
    await root.ask('auth/enable', {});
    const { lines, observability } = memory();
    const { token } = await root.ask<{ token: string }>('auth/authenticate', { name: 'root', password: 'secret' });
    const stranger = follower({ prefix: 'a/', url: closed.url, observability });
    const guest = follower({
      prefix: 'a/',
      url: closed.url,
      fetch: (url, init) => fetch(url, { ...init, headers: { ...init.headers, authorization: token } }),
    });
    await guest.hears('1');
    await eventually(() =>
      expect(lines[0]?.fields?.['error']).toMatchObject({
        name: 'EtcdError',
        message: expect.stringContaining('user name is empty') as string,
      }),
    );
    expect(stranger.heard).toEqual([]);
    stranger.stop();
    guest.stop();
    await closed.stop();
  });

  it('should log a key that is no id, and leave it to the loop to reject and count it', async () => {
    const prefix = aPrefix();
    const { lines, observability } = memory();
    await etcd.put(prefix);
    const rejected = lastValueFrom(
      keys({ url: server.url, prefix, ...quick, observability }).pipe(
        reconcile(() => undefined),
        ofKind('rejected'),
        take(1),
      ),
    );
    expect(await rejected).toMatchObject({ id: '', reason: 'invalid_id' });
    expect(lines).toEqual([{ message: 'A key of etcd holds no id', fields: { prefix } }]);
  });

  it('should be another watch for each subscription, and leave none behind', async () => {
    const prefix = aPrefix();
    await etcd.put(`${prefix}a`);
    const open = new Set<AbortSignal>();
    const counting: KeysConfig['fetch'] = (url, init) => {
      if (url.endsWith('/watch')) {
        open.add(init.signal);
        init.signal.addEventListener('abort', () => open.delete(init.signal));
      }
      return fetch(url, init);
    };
    const source = keys({ url: server.url, prefix, ...quick, heartbeat: 10_000, fetch: counting });
    const heard: string[] = [];
    const both = [source.subscribe((id) => heard.push(id)), source.subscribe((id) => heard.push(id))];
    await eventually(() => expect([heard, open.size]).toEqual([['a', 'a'], 2]));
    for (const subscription of both) subscription.unsubscribe();
    expect(open.size).toBe(0);
  });

  it('should complete what takes only some, while it lists', async () => {
    const prefix = aPrefix();
    for (const id of ['a', 'b', 'c']) await etcd.put(prefix + id);
    expect(await lastValueFrom(keys({ url: server.url, prefix, ...quick }).pipe(take(2), toArray()))).toEqual(['a', 'b']);
  });
});

describe('keys, given nonsense', () => {
  const url = 'http://localhost:2379';
  const anUrl = 'an http or https URL without a password, or a list of such';
  it.each([
    [{ url: '' }, `Expected \`url\` to be ${anUrl}, got \`\` (string)`],
    [{ url: [] }, `Expected \`url\` to be ${anUrl}, got \`[]\` (object)`],
    [{ url: 'localhost:2379' }, `Expected \`url\` to be ${anUrl}, got \`localhost:2379\` (string)`],
    [{ url: [url, 5] }, `Expected \`url\` to be ${anUrl}, got \`5\` (number)`],
    [{ url: 'http://root:secret@localhost' }, `Expected \`url\` to be ${anUrl}, got \`a URL with a password\` (string)`],
    [{ prefix: undefined }, 'Expected `prefix` to be a string, got `undefined`'],
    [{ fetch: 5 }, 'Expected `fetch` to be a function, got `5` (number)'],
    [{ heartbeat: 0 }, 'Expected `heartbeat` to be a finite number of ms > 0, got `0` (number)'],
    [{ deadline: Infinity }, 'Expected `deadline` to be a finite number of ms > 0, got `Infinity` (number)'],
    [{ backoff: 5 }, 'Expected `backoff` to be a function, got `5` (number)'],
    [{ observability: {} }, 'Expected `observability` to be an Observability with a logger, got `{}` (object)'],
    [{ scheduler: {} }, 'Expected `scheduler` to be a scheduler, got `{}` (object)'],
  ])('should name the field', (config, message) => {
    expect(() => keys({ url, prefix: 'x', ...config } as KeysConfig)).toThrow(new TypeError(message));
  });
  it('should ask for a config', () => {
    expect(() => keys(undefined as never)).toThrow(new TypeError('Expected `config` to be an object, got `undefined`'));
  });
});
