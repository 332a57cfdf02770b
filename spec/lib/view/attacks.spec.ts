import { describe, expect, it } from 'vitest';
import { page } from '../../../lib/view/page/page.js';
import { FROM_PAGE, ORIGIN, viewed } from '../../support/viewing.js';

const MEGABYTE = 'x'.repeat(1_048_576);
const NASTY = [
  '</script><script>alert(1)</script>',
  '"\'`&<>',
  'a\nb\r\nevent: end\n\ndata: {}\n\n',
  '\u2028\u2029',
  '\ud800',
  '__proto__',
];

const status = async (response: Promise<Response>): Promise<number> => (await response).status;

describe('V2: who may change something', () => {
  const open = { allow: () => true };

  it.each<[string, Record<string, string>]>([
    ['another site', { ...FROM_PAGE, 'sec-fetch-site': 'cross-site' }],
    ['another host of the same site', { ...FROM_PAGE, 'sec-fetch-site': 'same-site' }],
    ['the address bar', { ...FROM_PAGE, 'sec-fetch-site': 'none' }],
    ['another site that claims to be ours', { ...FROM_PAGE, 'sec-fetch-site': 'cross-site', origin: ORIGIN }],
    ['a form, which sends no header of its own', { 'sec-fetch-site': 'same-origin' }],
    ['a form with the wrong header', { 'sec-fetch-site': 'same-origin', 'x-kreconciler': '2' }],
    ['nobody knows where', { 'x-kreconciler': '1' }],
    ['another origin', { 'x-kreconciler': '1', origin: 'http://evil.example' }],
    ['another port', { 'x-kreconciler': '1', origin: 'http://localhost:8081' }],
    ['another scheme, without its port', { 'x-kreconciler': '1', origin: 'http://localhost' }],
    ['a sandbox', { 'x-kreconciler': '1', origin: 'null' }],
    ['an origin that is none', { 'x-kreconciler': '1', origin: 'localhost:8080' }],
    ['a name that was made to point here', { ...FROM_PAGE, host: 'evil.example' }],
    ['that name, which claims to be our origin', { 'x-kreconciler': '1', host: 'evil.example', origin: 'http://evil.example' }],
  ])('V2 should refuse what comes from %s', async (_, headers) => {
    const { controller, post } = viewed(open);
    expect(await status(post('/api/orchard/pause', {}, headers))).toBe(403);
    expect(controller.inspect().paused).toBeUndefined();
  });

  it.each<[string, Record<string, string>]>([
    ['the page', FROM_PAGE],
    ['a script, or a browser by plain HTTP', { 'x-kreconciler': '1', origin: ORIGIN, host: 'localhost:8080' }],
    ['the same by another address', { 'x-kreconciler': '1', origin: 'http://192.168.0.7', host: '192.168.0.7' }],
    ['the same through TLS', { 'x-kreconciler': '1', origin: 'https://192.168.0.7', host: '192.168.0.7:443' }],
    ['the same by IPv6', { 'x-kreconciler': '1', origin: 'http://[::1]:8080', host: '[::1]:8080' }],
    ['a name that is ours', { 'x-kreconciler': '1', origin: 'https://Orchard.example', host: 'orchard.Example' }],
  ])('V2 should take what comes from %s', async (_, headers) => {
    const { controller, post } = viewed({ ...open, hosts: ['ORCHARD.example'] });
    expect(await status(post('/api/orchard/pause', {}, headers))).toBe(200);
    expect(controller.inspect().paused).toBeDefined();
  });

  it.each([
    'evil.example',
    'localhost.evil.example',
    'evil.example:8080',
    'localhost@evil.example',
    'evil.example/localhost',
    '',
    'a b',
    '1.2.3.4.evil.example',
  ])('V2 should tell nothing to who calls it %j', async (host) => {
    const { get } = viewed();
    for (const path of ['', '/api/orchard', '/api/orchard/ids', '/api/orchard/steps']) expect(await status(get(path, { host }))).toBe(403);
  });

  it('V2 should look at the address where there is no header of the host', async () => {
    const { fetched } = viewed();
    expect(await status(fetched(new Request('http://evil.example/admin')))).toBe(403);
    expect(await status(fetched(new Request('http://127.0.0.1/admin')))).toBe(200);
  });

  it.each(['localhost', 'localhost:1', 'admin.localhost', '127.0.0.1:8080', '10.0.0.1', '[::1]', '[fe80::1]:80', 'orchard.example:444'])(
    'V2 should answer who calls it %s',
    async (host) => {
      const { get } = viewed({ hosts: ['orchard.example:444'] });
      expect(await status(get('', { host }))).toBe(200);
    },
  );

  it.each([
    ['plum.example:80', 'plum.example'],
    ['plum.example:80', 'plum.example:80'],
    ['Pflaume.Bäume.example', 'pflaume.xn--bume-loa.example'],
  ])('V2 should know %s when it is called %s', async (name, host) => {
    const { get } = viewed({ hosts: [name] });
    expect(await status(get('', { host }))).toBe(200);
    expect(await status(get('', { host: `${host}.evil.example` }))).toBe(403);
  });

  it('V1 should change nothing by a GET, whatever it says', async () => {
    const { controller, fetched } = viewed(open);
    for (const action of ['run', 'pause', 'resume', 'discard']) {
      for (const method of ['GET', 'HEAD']) {
        const headers = { ...FROM_PAGE, 'x-http-method-override': 'POST', 'x-http-method': 'POST' };
        const request = new Request(`${ORIGIN}/admin/api/orchard/${action}?_method=POST&id=apple`, { method, headers });
        expect(await status(fetched(request))).toBe(404);
      }
    }
    expect(controller.inspect()).toMatchObject({ ids: [] });
    expect(controller.inspect().paused).toBeUndefined();
  });

  it.each(['yes', 1, {}, undefined])('V1 should take %j of allow for no', async (said) => {
    const { controller, post } = viewed({ allow: (() => said) as never });
    expect(await status(post('/api/orchard/pause', {}))).toBe(403);
    expect(controller.inspect().paused).toBeUndefined();
  });

  it('V1 should ask allow for what is done, with the id', async () => {
    const asked: unknown[] = [];
    const { controller, post } = viewed({
      allow: async (request, action, id) => {
        asked.push([request.headers.get('authorization'), action, id]);
        return id === 'apple';
      },
    });
    const headers = { ...FROM_PAGE, authorization: 'Bearer someone' };
    expect(await status(post('/api/orchard/pause', { id: 'apple' }, headers))).toBe(200);
    expect(await status(post('/api/orchard/pause', { id: 'pear' }, headers))).toBe(403);
    expect(await status(post('/api/orchard/pause', {}, headers))).toBe(403);
    expect(asked).toEqual(['apple', 'pear', undefined].map((id) => ['Bearer someone', 'pause', id]));
    expect(Object.keys(controller.inspect().pausedIds ?? {})).toEqual(['apple']);
  });

  it('V2 should let no other site read', async () => {
    const { get, fetched } = viewed(open);
    const preflight = new Request(`${ORIGIN}/admin/api/orchard/pause`, {
      method: 'OPTIONS',
      headers: {
        origin: 'http://evil.example',
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'x-kreconciler',
      },
    });
    const answers = await Promise.all([
      ...['', '/api/orchard', '/api/orchard/ids', '/api/orchard/steps', '/x'].map((path) => get(path, { origin: 'http://evil.example' })),
      fetched(preflight),
    ]);
    for (const { headers, body } of answers) {
      expect([...headers.keys()].filter((name) => name.startsWith('access-control-'))).toEqual([]);
      expect(headers.get('cross-origin-resource-policy')).toBe('same-origin');
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('content-security-policy')).toMatch(/^default-src 'none'.*frame-ancestors 'none'/);
      await body?.cancel();
    }
    expect(answers.at(-1)?.ok).toBe(false);
  });

  it('V2 should let nothing run in the page but its own script', async () => {
    const { get } = viewed();
    const response = await get('');
    const policy = response.headers.get('content-security-policy') ?? '';
    const html = await response.text();
    for (const element of ['script', 'style']) {
      const [, text = ''] = new RegExp(`<${element}>([^]*?)</${element}>`).exec(html) ?? [];
      const hash = Buffer.from(await crypto.subtle.digest('SHA-256', Buffer.from(text))).toString('base64');
      expect(policy).toContain(`${element}-src 'sha256-${hash}'`);
    }
    expect(policy).not.toMatch(/unsafe|\*/);
    expect(html.length).toBeGreaterThan(page.length);
  });
});

describe('V2: what is in ids, errors and reasons', () => {
  it.each(NASTY)('V2 should tell %j as it is, in JSON', async (id) => {
    const { changes, controller, get, post } = viewed({ allow: () => true }, {}, (rotten) => {
      throw new Error(`rotten ${rotten}`);
    });
    changes.next(id);
    await post('/api/orchard/pause', { id, why: id });
    const response = await get('/api/orchard/ids');
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(await response.json()).toMatchObject({ ids: [{ id, paused: { why: id }, lastError: { message: `rotten ${id}` } }] });
    expect(controller.inspect().pausedIds).toHaveProperty([id]);
  });

  it('V2 should put names of controllers into the page so that they end nothing', async () => {
    const { view } = await import('kreconciler/view');
    const { controller } = viewed();
    const html = await (await view({ '</script><script>alert(1)</script>': controller })(new Request(ORIGIN))).text();
    expect(html).not.toContain('alert(1)</script>');
    expect(html).toContain('\\u003c/script>\\u003cscript>alert(1)\\u003c/script>');
  });

  it('V3 should show of a megabyte only the beginning', async () => {
    const { changes, controller, get, getJson, post } = viewed({ allow: () => true }, {}, () => {
      throw Object.assign(new Error(MEGABYTE), { name: MEGABYTE });
    });
    changes.next({ id: MEGABYTE, stream: MEGABYTE });
    changes.next('pear');
    controller.pause(undefined, MEGABYTE);
    controller.pause('pear', MEGABYTE);
    for (const path of ['', '/ids', '/ids/pear', '/ids?state=paused']) {
      expect([path, (await (await get(`/api/orchard${path}`)).text()).length < 20_000]).toEqual([path, true]);
    }
    const { ids } = (await getJson('/api/orchard/ids')) as { ids: object[] };
    expect(ids[1]).toMatchObject({ id: `${'x'.repeat(1000)}…`, cut: true, lastError: { message: `${'x'.repeat(1000)}…` } });
    expect(await status(post('/api/orchard/pause', { why: MEGABYTE }))).toBe(413);
    expect(await status(post('/api/orchard/pause', `{"why":"${MEGABYTE}`))).toBe(413);
  });

  it('V3 should give pages that end, though ids are a megabyte long', async () => {
    const { changes, controller, getJson } = viewed();
    controller.pause();
    for (const id of ['a', `${MEGABYTE}1`, `${MEGABYTE}2`, 'z']) changes.next(id);
    const seen: string[] = [];
    let next: string | undefined = '';
    while (next !== undefined && seen.length < 10) {
      const path: string = `/api/orchard/ids?limit=1${next === '' ? '' : `&cursor=${next}`}`;
      const answer = (await getJson(path)) as { ids: { id: string }[]; next?: string };
      seen.push(...answer.ids.map(({ id }) => id.slice(0, 1)));
      next = answer.next;
    }
    expect(seen).toEqual(['a', 'x', 'z']);
  });

  it('V2 should refuse a body that never ends once it is too long', async () => {
    const { fetched } = viewed({ allow: () => true });
    let pulled = 0;
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        pulled++;
        controller.enqueue(new Uint8Array(10_000).fill(32));
      },
    });
    const request = new Request(`${ORIGIN}/admin/api/orchard/pause`, { method: 'POST', body, headers: FROM_PAGE, duplex: 'half' });
    expect(await status(fetched(request))).toBe(413);
    expect(pulled).toBeLessThan(20);
  });
});

describe('V2: paths', () => {
  it.each([
    ['/admin/%2e%2e/admin/api/orchard/x', 404],
    ['/admin/..%2fapi/orchard', 404],
    ['/admin//api/orchard', 404],
    ['//admin/api/orchard', 404],
    ['/admin/api//orchard', 404],
    ['/admin/api%2forchard', 404],
    ['/admin/api/orchard%2fids', 404],
    ['/admin/api/orchard/ids/..%2f..%2fsteps', 404],
    ['/admin/api/orchard/ids/%2e%2e/steps/x', 404],
    ['/admin/api/%ff', 400],
    ['/admin/api/orchard/ids/%', 400],
    ['/admin/api/__proto__', 404],
    ['/admin/api/constructor', 404],
    ['/admin/api/orchard/constructor', 404],
    ['/admin\\api\\x', 404],
    ['/ADMIN', 404],
    ['/admin;x', 404],
    ['/administrator/api/orchard', 404],
    ['/api/orchard', 404],
    ['/', 404],
  ])('V2 should answer %s with %i', async (path, wanted) => {
    const { fetched } = viewed();
    expect(await status(fetched(new Request(ORIGIN + path)))).toBe(wanted);
  });

  it('V2 should take an encoded path for the id that it is', async () => {
    const { fetched } = viewed();
    const response = await fetched(new Request(`${ORIGIN}/admin/api/orchard/ids/..%2f..%2fsteps?idle=true`));
    expect(await response.json()).toMatchObject({ id: { id: '../../steps', state: 'idle' }, history: [] });
  });
});
