import { NEVER, of } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Controller } from 'kreconciler';
import { view, type ViewConfig } from 'kreconciler/view';
import { logged } from '../../support/logged.js';
import { FROM_PAGE, ORIGIN, viewed } from '../../support/viewing.js';

beforeEach(() => {
  vi.useFakeTimers({ now: 1_000_000 });
});
afterEach(() => {
  vi.useRealTimers();
});

describe('GET base', () => {
  it('should answer with the page, with its data in it', async () => {
    const { get } = viewed();
    for (const path of ['', '/']) {
      const response = await get(path);
      expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
      expect(await response.text()).toContain('{"base":"/admin/","controllers":["orchard"]}');
    }
  });

  it('should take the name of a single controller, or `default`', async () => {
    const request = () => new Request(`${ORIGIN}/api/zones`);
    const zones = view(new Controller({ name: 'zones' }, () => undefined, {}));
    expect(await (await zones(request())).json()).toMatchObject({ name: 'zones', leading: false });
    expect((await view(new Controller({}, () => undefined, {}))(request())).status).toBe(404);
    expect((await view(new Controller({}, () => undefined, {}))(new Request(`${ORIGIN}/api/default`))).status).toBe(200);
  });

  it('should show several controllers', async () => {
    const [a, b] = ['a', 'b'].map((name) => new Controller({ name }, () => undefined, {}));
    const both = view({ 'the first': a!, 'a/b?': b! });
    expect(await (await both(new Request(`${ORIGIN}/api/the%20first`))).json()).toMatchObject({ name: 'the first' });
    expect(await (await both(new Request(`${ORIGIN}/api/a%2Fb%3F`))).json()).toMatchObject({ name: 'a/b?' });
  });
});

describe('GET api/NAME', () => {
  it('should show a loop at a glance', async () => {
    const { changes, controller, getJson } = viewed({}, { workerName: () => 'worker', name: 'loop' }, (id) => {
      if (id === 'plum') return NEVER;
      throw new Error('rotten');
    });
    changes.next('pear');
    vi.setSystemTime(1_000_500);
    changes.next('plum');
    vi.setSystemTime(1_000_600);
    changes.next('fig');
    controller.pause('date', 'ripening');
    expect(await getJson('/api/orchard')).toEqual({
      name: 'orchard',
      at: 1_000_600,
      leading: true,
      ready: 1,
      running: 1,
      waiting: 1,
      abandoned: 0,
      pausedIds: 1,
      workers: [
        {
          worker: 0,
          name: 'worker',
          ready: 1,
          running: 1,
          waiting: 1,
          abandoned: 0,
          runs: [{ id: 'plum', attempt: 1, since: 1_000_500 }],
        },
      ],
      oldest: { id: 'pear', since: 1_000_000 },
      actions: [],
      chart: [expect.objectContaining({ at: 1_000_000, every: 5_000 })],
    });
  });

  it('should tell the term, and that the loop is paused and why', async () => {
    const { controller, getJson } = viewed({}, { leaderElectionEnabled: true, leader: of({ term: 7 }) });
    controller.pause(undefined, 'no database');
    expect(await getJson('/api/orchard')).toMatchObject({ leading: true, term: 7, paused: { since: 1_000_000, why: 'no database' } });
  });

  it('should tell what this request may do', async () => {
    const { getJson } = viewed({ allow: (_, action, id) => Promise.resolve(action === 'pause' || id === 'pear') });
    expect(await getJson('/api/orchard')).toMatchObject({ actions: ['pause'] });
  });

  it('should count what happens from the first look on, until nobody looks for a minute', async () => {
    const { changes, getJson } = viewed();
    changes.next('apple');
    const chart = async () => (await getJson('/api/orchard'))['chart'] as object[];
    expect(await chart()).toMatchObject([{ at: 1_000_000, events: 0 }]);
    for (const id of ['apple', 'pear', 'pear']) changes.next(id);
    vi.setSystemTime(1_005_000);
    changes.next('plum');
    expect(await chart()).toMatchObject([
      { at: 1_000_000, events: 3, started: 2, ended: 2, failed: 1, dropped: 0, rejected: 0, waited: 0 },
      { at: 1_005_000, events: 1, started: 1, ended: 1, failed: 0 },
    ]);
    vi.setSystemTime(1_065_001);
    changes.next('plum');
    vi.setSystemTime(1_066_000);
    expect(await chart()).toMatchObject([{ at: 1_065_000, events: 0 }]);
  });
});

describe('GET api/NAME/ids', () => {
  it('should give rows as inspect has them, the total, and the next page', async () => {
    const { changes, controller, getJson } = viewed();
    controller.pause();
    for (const id of ['plum', 'pear', 'apple']) changes.next(id);
    const first = await getJson('/api/orchard/ids?limit=2');
    const rows = [...controller.inspect().ids].sort((a, b) => (a.id < b.id ? -1 : 1));
    expect(first).toEqual({ at: 1_000_000, ids: rows.slice(0, 2), total: 3, next: expect.any(String) as string });
    const second = await getJson(`/api/orchard/ids?limit=2&cursor=${String(first['next'])}`);
    expect(second).toEqual({ at: 1_000_000, ids: rows.slice(2), total: 3 });
  });

  it.each([
    ['x', '`x` (string)'],
    ['-1', '`-1` (string)'],
    ['0', '`0` (number)'],
  ])('should say what came as the limit: %j', async (limit, came) => {
    const { getJson } = viewed();
    const error = `Expected \`limit\` to be an integer from 1 to 1000, got ${came}`;
    expect(await getJson(`/api/orchard/ids?limit=${limit}`)).toEqual({ error });
  });

  it('should filter by state and search', async () => {
    const { changes, controller, getJson } = viewed();
    changes.next('pear');
    controller.pause('fig', 'ripening');
    expect(await getJson('/api/orchard/ids?state=waiting&search=ea')).toMatchObject({
      ids: [{ id: 'pear', state: 'waiting', failures: 1, lastError: { name: 'Error', message: 'rotten', at: 1_000_000 } }],
      total: 1,
    });
    expect(await getJson('/api/orchard/ids?state=paused')).toMatchObject({
      ids: [{ id: 'fig', state: 'idle', paused: { why: 'ripening' } }],
    });
    expect(await getJson('/api/orchard/ids?state=&search=x')).toMatchObject({ ids: [], total: 0 });
  });

  it('should take what a form leaves empty for nothing', async () => {
    const { changes, getJson } = viewed();
    changes.next('pear');
    expect(await getJson('/api/orchard/ids?state=&search=&cursor=&limit=')).toEqual(await getJson('/api/orchard/ids'));
  });

  it.each(['state=asleep', 'limit=0', 'limit=x', 'limit=1001', 'cursor=%'])('should refuse %s', async (query) => {
    const { get } = viewed();
    const response = await get(`/api/orchard/ids?${query}`);
    expect([response.status, await response.json()]).toEqual([400, { error: expect.stringMatching(/^Expected/) as string }]);
  });
});

describe('GET api/NAME/ids/ID', () => {
  it('should give the history of an id and what may be done to it', async () => {
    const { changes, getJson } = viewed({ allow: (_, action) => action === 'run' });
    changes.next({ id: 'pear', message: { secret: true } });
    expect(await getJson('/api/orchard/ids/pear')).toEqual({
      at: 1_000_000,
      id: expect.objectContaining({ id: 'pear', state: 'waiting' }) as object,
      history: [
        { kind: 'enqueued', id: 'pear', worker: 0, at: 1_000_000, stream: 'changes', reason: 'event' },
        { kind: 'started', id: 'pear', worker: 0, at: 1_000_000, attempt: 1, reason: 'event', streams: ['changes'], waited: 0 },
        {
          kind: 'requeued',
          id: 'pear',
          worker: 0,
          at: 1_000_000,
          attempt: 1,
          took: 0,
          delay: 60_000,
          failure: 'thrown',
          error: { name: 'Error', message: 'rotten' },
        },
      ],
      actions: ['run'],
    });
  });

  it('should find ids by their encoded names, slashes included, and nothing else', async () => {
    const { changes, get, getJson } = viewed();
    for (const id of ['a/b', 'ü?#%', ' ']) {
      changes.next(id);
      expect(await getJson(`/api/orchard/ids/${encodeURIComponent(id)}`)).toMatchObject({ id: { id, state: 'idle' } });
    }
    for (const path of ['a/b', 'a%252Fb', 'nobody', '']) expect((await get(`/api/orchard/ids/${path}`)).status).toBe(404);
  });

  it('should say of one that it knows nothing of that it is idle, and what may be done to it, if that is asked for', async () => {
    const { get, getJson } = viewed({ allow: (_, action) => action === 'run' });
    const nobody = { at: 1_000_000, id: { id: 'nobody', state: 'idle' }, history: [], actions: ['run'] };
    expect(await getJson('/api/orchard/ids/nobody?idle=true')).toEqual(nobody);
    expect(await getJson('/api/orchard/ids/a%252Fb?idle=true')).toMatchObject({ id: { id: 'a%2Fb' } });
    for (const path of ['/api/garden/ids/nobody?idle=true', '/api/orchard/ids/nobody?idle=']) expect((await get(path)).status).toBe(404);
  });
});

describe('POST api/NAME/run|pause|resume|discard', () => {
  const allowed = { allow: () => true };

  it('should pause and resume an id, or the loop', async () => {
    const { controller, post } = viewed(allowed);
    expect(await (await post('/api/orchard/pause', { id: 'apple', why: 'ripening' })).json()).toEqual({
      action: 'pause',
      id: 'apple',
      outcome: 'done',
    });
    expect(await (await post('/api/orchard/pause', {})).json()).toEqual({ action: 'pause', outcome: 'done' });
    expect(controller.inspect()).toMatchObject({ paused: {}, pausedIds: { apple: { why: 'ripening' } } });
    await post('/api/orchard/resume', { id: 'apple' });
    await post('/api/orchard/resume', {});
    expect(controller.inspect({ ids: false })).toMatchObject({ pausedIds: 0 });
    expect(controller.inspect().paused).toBeUndefined();
  });

  it('should discard what an id has to do', async () => {
    const { controller, changes, post } = viewed(allowed);
    changes.next('pear');
    expect(controller.inspect().waiting).toBe(1);
    await post('/api/orchard/discard', { id: 'pear', why: 'it is rotten' });
    expect(controller.inspect().waiting).toBe(0);
  });

  it('should run an id past what it waits for, and answer with what happened', async () => {
    let isRipe = false;
    const { changes, post } = viewed(allowed, { maxItemRetries: 0 }, () => {
      if (!isRipe) throw new Error('rotten');
    });
    expect(await (await post('/api/orchard/run', { id: 'pear' })).json()).toEqual({
      action: 'run',
      id: 'pear',
      outcome: 'failed',
      error: { name: 'Error', message: 'rotten' },
    });
    changes.next('pear');
    isRipe = true;
    expect(await (await post('/api/orchard/run', { id: 'pear' })).json()).toMatchObject({ outcome: 'succeeded' });
  });

  it('should say that a run is pending that takes long, and leave it alone', async () => {
    const { controller, post } = viewed(allowed, { maxReconcileTime: 0 }, () => NEVER);
    const asked = post('/api/orchard/run', { id: 'apple' });
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await (await asked).json()).toMatchObject({ outcome: 'pending' });
    expect([controller.inspect().running, vi.getTimerCount()]).toEqual([1, 0]);
  });

  it('should say why nothing runs', async () => {
    const { controller, post } = viewed(allowed);
    controller.pause('apple');
    expect(await (await post('/api/orchard/run', { id: 'apple' })).json()).toMatchObject({
      outcome: 'failed',
      error: { message: '`apple` was rejected: paused' },
    });
  });

  it.each([
    ['run', {}, 'Expected an `id` to run'],
    ['discard', {}, 'Expected an `id` to discard'],
    ['pause', { id: '' }, 'Expected `id` to be a non-empty string'],
    ['pause', { id: 5 }, 'Expected `id` to be a non-empty string'],
    ['pause', { why: {} }, 'Expected `why` to be a string of at most 1000 characters'],
    ['pause', { why: 'x'.repeat(1001) }, 'Expected `why` to be a string of at most 1000 characters'],
    ['pause', [], 'Expected a JSON object'],
    ['pause', 'null', 'Expected a JSON object'],
    ['pause', '', 'Expected a JSON object'],
    ['pause', '{', 'Expected a JSON object'],
  ])('should refuse to %s %j', async (action, body, error) => {
    const { post, controller } = viewed(allowed);
    const response = await post(`/api/orchard/${action}`, body);
    expect([response.status, await response.json()]).toEqual([400, { error }]);
    expect(controller.inspect().paused).toBeUndefined();
  });

  it('should write down who was paused, and why, for the log', async () => {
    const { logger, lines } = logged();
    const { post } = viewed(allowed, { observability: { logger } });
    await post('/api/orchard/discard', { id: 'apple', why: 'it is rotten' });
    expect(lines).toContainEqual(['info', 'Asked by the view to discard', { id: 'apple', why: 'it is rotten' }]);
  });

  it.each<[what: string, user: NonNullable<ViewConfig['user']>, fields: object]>([
    ['a name', (request) => request.headers.get('x-user') ?? undefined, { user: 'ann' }],
    ['a promise of one', async () => 'ann', { user: 'ann' }],
    ['a long one, as far as it is shown', () => 'a'.repeat(2_000), { user: `${'a'.repeat(1_000)}…` }],
    ['nothing', () => undefined, {}],
    ['an empty name', () => '', {}],
    ['no text', () => 7 as never, {}],
  ])('should say in the log who asked for a change: %s', async (_, user, fields) => {
    const { logger, lines } = logged();
    const { post } = viewed({ ...allowed, user }, { observability: { logger } });
    expect((await post('/api/orchard/pause', { id: 'apple' }, { ...FROM_PAGE, 'x-user': 'ann' })).status).toBe(200);
    expect(lines).toContainEqual(['info', 'Asked by the view to pause', { id: 'apple', ...fields }]);
  });

  it('should do what is allowed, though it cannot be told who asked for it', async () => {
    const { logger, lines } = logged();
    const error = new Error('no sessions');
    const { controller, post } = viewed({ ...allowed, user: () => Promise.reject(error) }, { observability: { logger } });
    await post('/api/orchard/pause', { id: 'apple' });
    expect(Object.keys(controller.inspect().pausedIds ?? {})).toEqual(['apple']);
    expect(lines).toContainEqual(['error', '`user` of the view threw', { error }]);
    expect(lines).toContainEqual(['info', 'Asked by the view to pause', { id: 'apple' }]);
  });

  it('V1 should not be allowed a change by having a name, nor ask for one that is read or refused', async () => {
    const user = vi.fn(() => 'ann');
    const { post, get } = viewed({ user });
    expect((await post('/api/orchard/pause', {})).status).toBe(403);
    expect((await get('/api/orchard')).status).toBe(200);
    expect(user).not.toHaveBeenCalled();
  });
});

describe('view', () => {
  it.each([
    [null, {}, 'Expected `controllers` to be an object, got `null`'],
    [{}, {}, 'Expected `controllers` to be a Controller, or a record of them by name, got `{}` (object)'],
    [{ a: 5 }, {}, 'Expected `controllers["a"]` to be a Controller, got `5` (number)'],
    [{ '..': 5 }, {}, 'Expected `controllers` to be named by what can stand in an address, got `..` (string)'],
    [{ '': 5 }, {}, 'Expected `controllers` to be named by what can stand in an address, got `` (string)'],
    [undefined, null, 'Expected `config` to be an object, got `null`'],
    [undefined, { base: 'admin' }, 'Expected `base` to be a path that begins with `/`, as it stands in an address, got `admin` (string)'],
    [undefined, { base: '/a b' }, 'Expected `base` to be '],
    [undefined, { base: '//evil.example/' }, 'Expected `base` to be '],
    [undefined, { base: '/a?b' }, 'Expected `base` to be '],
    [undefined, { base: 5 }, 'Expected `base` to be '],
    [undefined, { allow: true }, 'Expected `allow` to be a function, got `true` (boolean)'],
    [undefined, { user: 'ann' }, 'Expected `user` to be a function, got `ann` (string)'],
    [undefined, { hosts: 'a.example' }, 'Expected `hosts` to be an array of host names, got `a.example` (string)'],
    [undefined, { hosts: [5] }, 'Expected `hosts` to be an array of host names'],
    [undefined, { hosts: ['https://a.example'] }, 'Expected `hosts` to be an array of host names, got `["https://a.example"]` (object)'],
  ])('should not take %j, %j', (controllers, config, message) => {
    const orchard = new Controller({}, () => undefined, {});
    expect(() => view((controllers === undefined ? { orchard } : controllers) as never, config as never)).toThrow(message);
  });

  it.each<[string, (orchard: Controller) => unknown]>([
    ['a list', (orchard) => [orchard]],
    ['what only inherits from one', (orchard) => Object.create(orchard) as unknown],
    ['a record that only inherits them', (orchard) => Object.create({ orchard }) as unknown],
  ])('should not take %s for a controller, nor for a record of them', (_, made) => {
    const orchard = new Controller({}, () => undefined, {});
    const message = 'Expected `controllers` to be a Controller, or a record of them by name, got ';
    expect(() => view(made(orchard) as never)).toThrow(new RegExp(`^${message}`));
    expect(() => view({ orchard: made(orchard) } as never)).toThrow('Expected `controllers["orchard"]` to be a Controller, got ');
  });

  it('should answer with nothing that it does not list', async () => {
    const { get, post, fetched } = viewed({ allow: () => true });
    const paths = [
      'x',
      'api',
      'api/',
      'api/nobody',
      'api/orchard/',
      'api/orchard/x',
      'api/orchard/run',
      'api/orchard/steps/x',
      'api/orchard/ids/',
    ];
    for (const path of paths) expect([path, (await get(`/${path}`)).status]).toEqual([path, 404]);
    for (const path of ['', 'api/orchard', 'api/orchard/ids', 'api/orchard/erase', 'api/orchard/pause/x']) {
      expect([path, (await post(`/${path}`, {})).status]).toEqual([path, 404]);
    }
    expect((await fetched(new Request(`${ORIGIN}/administrator`))).status).toBe(404);
    for (const method of ['PUT', 'DELETE', 'PATCH', 'OPTIONS', 'BREW']) {
      const response = await fetched(new Request(`${ORIGIN}/admin/api/orchard/pause`, { method, headers: FROM_PAGE }));
      expect([method, response.status, response.headers.get('allow')]).toEqual([method, 405, 'GET, HEAD, POST']);
    }
  });

  it('should answer HEAD as GET, without a body', async () => {
    const { fetched } = viewed();
    const wanted = { '': 200, '/api/orchard': 200, '/api/orchard/steps': 200, '/api/nowhere': 404, '/api/%': 400 };
    for (const [path, status] of Object.entries(wanted)) {
      const response = await fetched(new Request(`${ORIGIN}/admin${path}`, { method: 'HEAD' }));
      expect([response.status, await response.text()]).toEqual([status, '']);
    }
  });

  it('should not reject, whatever goes wrong', async () => {
    const { controller, post } = viewed({
      allow: () => {
        throw new Error('no idea');
      },
    });
    expect((await post('/api/orchard/pause', {})).status).toBe(403);
    const { config, steps } = controller;
    const fail = () => {
      throw new Error('broken');
    };
    const broken = {
      config,
      steps,
      rates: fail,
      inspect: fail,
      inspectId: fail,
      inspectIds: fail,
      reconcile: fail,
      pause: fail,
      resume: fail,
      discard: fail,
    };
    expect((await view({ broken })(new Request(`${ORIGIN}/api/broken`))).status).toBe(500);
  });
});
