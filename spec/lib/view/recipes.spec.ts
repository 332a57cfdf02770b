import * as nodeServer from '@hono/node-server';
import express from 'express';
import * as fastify from 'fastify';
import * as hono from 'hono';
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { onTestFinished, describe, expect, it } from 'vitest';
import { view } from 'kreconciler/view';
import { ran } from '../../support/readmes.js';
import { until } from '../../support/until.js';
import { viewed } from '../../support/viewing.js';

const MODULES = { '@hono/node-server': nodeServer, express: { default: express }, fastify, hono };

/** Everybody may do everything, in a document that says nothing of it. */
const openly = {
  'kreconciler/view': { view: (controllers: never, config: object) => view(controllers, { ...config, allow: () => true }) },
};

async function listening(server: Server): Promise<string> {
  if (!server.listening) await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const onLoopback = (listener: RequestListener): Promise<string> => listening(createServer(listener).listen(0, '127.0.0.1'));

interface App {
  readonly fetch: (request: Request) => Promise<Response>;
  readonly ready: () => Promise<unknown>;
  readonly routing: RequestListener;
}

/** Mounts the view by a recipe of the document; answers where the page is, and the name of its Controller. */
const recipes: Readonly<Record<string, (controller: unknown) => Promise<[page: string, name: string]>>> = {
  'view-node': async (controller) => {
    const serve = (options: Parameters<typeof nodeServer.serve>[0]) => nodeServer.serve({ ...options, port: 0 });
    const { server } = await ran('view-node', { controller }, ['server'], { ...openly, '@hono/node-server': { serve } });
    return [`${await listening(server as Server)}/`, 'default'];
  },
  'view-express': async (controller) => {
    const { app } = await ran('view-express', { controller }, ['app'], { ...openly, ...MODULES });
    return [`${await onLoopback(app as RequestListener)}/admin`, 'zones'];
  },
  'view-hono': async (controller) => {
    const { app } = await ran('view-hono', { controller }, ['app'], { ...openly, ...MODULES });
    const listener = nodeServer.getRequestListener((app as App).fetch);
    return [`${await onLoopback((request, response) => void listener(request, response))}/admin`, 'zones'];
  },
  'view-fastify': async (controller) => {
    const { app } = await ran('view-fastify', { controller }, ['app'], { ...openly, ...MODULES });
    await (app as App).ready();
    return [`${await onLoopback((app as App).routing)}/admin`, 'zones'];
  },
};

describe.each(Object.entries(recipes))('lib/view/README.md, %s', (_, mounted) => {
  it('V1 V2 V3 V4 should serve the page, its JSON, its steps, and changes, through a real server', async () => {
    const { controller, changes } = viewed();
    const [page, name] = await mounted(controller);
    const api = `${page.replace(/\/$/, '')}/api/${name}`;
    expect(await (await fetch(page)).text()).toContain(`"controllers":["${name}"]`);
    expect((await fetch(new URL('/elsewhere', page))).status).toBe(404);

    const { body } = await fetch(`${api}/steps`);
    changes.next('pear/1');
    changes.next('pear');
    let told = '';
    for await (const part of body as unknown as AsyncIterable<Uint8Array>) {
      told += new TextDecoder().decode(part);
      if (told.includes('rotten')) break;
    }
    expect(told).toContain('"id":"pear/1"');
    expect(await (await fetch(`${api}/ids?state=failing`)).json()).toMatchObject({ ids: [{ id: 'pear' }], total: 1 });
    expect(await (await fetch(`${api}/ids/pear%2F1`)).json()).toMatchObject({ id: { state: 'idle' } });

    const post = (headers: Record<string, string>): Promise<Response> =>
      fetch(`${api}/pause`, {
        method: 'POST',
        body: '{"id":"apple","why":"ripening"}',
        headers: { 'content-type': 'application/json', ...headers },
      });
    expect((await post({})).status).toBe(403);
    expect((await post({ 'x-kreconciler': '1', origin: 'http://evil.example' })).status).toBe(403);
    expect(await (await post({ 'x-kreconciler': '1', origin: new URL(page).origin })).json()).toMatchObject({ outcome: 'done' });
    expect(controller.inspect().pausedIds).toMatchObject({ apple: { why: 'ripening' } });
  });

  it('V2 V3 should withstand another host, paths that climb, a request that breaks off, and readers that vanish', async () => {
    const { controller, changes } = viewed();
    const [page, name] = await mounted(controller);
    const { hostname, port, pathname } = new URL(page);
    const base = pathname.replace(/\/$/, '');
    /** As a client of no manners says it. */
    const said = async (text: string, waitFor: RegExp): Promise<string> => {
      const socket = connect(Number(port), hostname);
      let heard = '';
      socket.on('data', (data) => (heard += data.toString())).on('error', () => undefined);
      socket.write(text);
      await until('it is answered', () => waitFor.test(heard) || socket.closed);
      socket.destroy();
      return heard;
    };
    const ask = (path: string, host = 'localhost') =>
      said(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`, /\r\n\r\n/);
    expect(await ask(`${base}/api/${name}`, 'evil.example')).toMatch(/^HTTP\/1.1 403 /);
    for (const path of [`${base}/../x`, `${base}//api/${name}`, `${base}/%2e%2e/x`, `${base}/api/${name}/ids/..%2f..`]) {
      expect(await ask(path)).toMatch(/^HTTP\/1.1 4\d\d /);
    }
    await said(
      `POST ${base}/api/${name}/pause HTTP/1.1\r\nHost: localhost\r\nx-kreconciler: 1\r\nOrigin: http://localhost\r\nContent-Length: 100\r\n\r\n{"why`,
      /$/,
    );
    await Promise.all(Array.from({ length: 20 }, () => ask(`${base}/api/${name}/steps`)));
    changes.next('apple');
    expect(await ask(`${base}/api/${name}`)).toMatch(/^HTTP\/1.1 200 /);
    expect(controller.inspect().paused).toBeUndefined();
  });
});

it('V1 should ask what the document says about who may do what', async () => {
  const { controller } = viewed();
  const users: Readonly<Record<string, object>> = { ada: { isOnCall: true }, bob: { isOnCall: false } };
  const userOf = (request: Request) => Promise.resolve(users[request.headers.get('authorization') ?? '']);
  const { fetched } = (await ran('view-allow', { controller, userOf }, ['fetched'])) as { fetched: App['fetch'] };
  const may = async (authorization: string): Promise<unknown> =>
    (
      (await (await fetched(new Request('http://ops.example.com/api/default', { headers: { authorization } }))).json()) as {
        actions: unknown;
      }
    ).actions;
  expect([await may('ada'), await may('bob'), await may('eve')]).toEqual([['pause', 'resume'], [], []]);
});
