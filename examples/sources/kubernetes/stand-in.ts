import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setInterval } from 'node:timers';
import { KubeConfig } from '@kubernetes/client-node';

/**
 * A stand-in for an API server, and no more than that: it lists and watches the config maps of one namespace, with resource
 * versions, bookmarks and a log that does not reach back for ever, and does what API servers and connections do.
 */
export interface StandIn {
  readonly kubeConfig: KubeConfig;
  /** The names, and their versions. */
  readonly objects: Map<string, number>;
  /** When what was asked for, by `performance.now()`. */
  readonly asked: { readonly lists: number[]; readonly watches: number[] };
  /** How many connections are open. */
  connected(): Promise<number>;
  write(name: string): void;
  remove(name: string): void;
  /** Forgets what happened: whoever wants to watch from before now gets 410, as its status or as an event, by turns. */
  compact(): void;
  /** Makes the next 410 the other kind. */
  expire(): void;
  /** Ends all watches, as the server does after a while; those that begin end at once for so long, in ms. */
  end(ms?: number): void;
  /** Breaks off all connections. */
  cut(): void;
  /** Keeps connections, and answers nothing. */
  silence(): void;
  speak(): void;
  stop(): void;
}

/** @param bookmark how often, in ms; an API server's are about 60_000 apart */
export async function kubernetesStandIn({ bookmark = 60_000 } = {}): Promise<StandIn> {
  const objects = new Map<string, number>();
  const asked = { lists: [] as number[], watches: [] as number[] };
  const watches = new Set<ServerResponse>();
  let log: { readonly version: number; readonly line: string }[] = [];
  let [version, oldest, expired] = [1, 0, 0];
  let [isSilent, endsUntil] = [false, 0];

  const configMap = (name: string, resourceVersion: number) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: 'default', resourceVersion: String(resourceVersion) },
  });
  const status = { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'Expired', code: 410, message: 'too old resource version' };
  const line = (type: string, object: object): string => `${JSON.stringify({ type, object })}\n`;
  const record = (type: string, name: string): void => {
    const entry = { version, line: line(type, configMap(name, version)) };
    log.push(entry);
    if (!isSilent) for (const watch of watches) watch.write(entry.line);
  };
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://kubernetes');
    response.setHeader('Content-Type', 'application/json');
    if (pathname !== '/api/v1/namespaces/default/configmaps') response.writeHead(404).end(JSON.stringify({ ...status, code: 404 }));
    else if (searchParams.get('watch') === 'true') startWatch(Number(searchParams.get('resourceVersion')), response);
    else {
      asked.lists.push(performance.now());
      const items = [...objects].map(([name, at]) => configMap(name, at));
      if (!isSilent)
        response.end(JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMapList', metadata: { resourceVersion: String(version) }, items }));
    }
  };
  const startWatch = (from: number, response: ServerResponse): void => {
    asked.watches.push(performance.now());
    if (isSilent) return;
    const isExpired = from < oldest;
    if (isExpired && expired++ % 2 === 0) {
      response.writeHead(410).end(JSON.stringify(status));
      return;
    }
    response.flushHeaders();
    if (isExpired) response.end(line('ERROR', status));
    else if (performance.now() < endsUntil) response.end();
    else {
      for (const entry of log.filter((each) => each.version > from)) response.write(entry.line);
      watches.add(response);
      response.once('close', () => watches.delete(response));
    }
  };
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const bookmarks = setInterval(() => {
    if (!isSilent)
      for (const watch of watches)
        watch.write(line('BOOKMARK', { kind: 'ConfigMap', apiVersion: 'v1', metadata: { resourceVersion: String(version) } }));
  }, bookmark);
  const kubeConfig = new KubeConfig();
  kubeConfig.loadFromClusterAndUser(
    { name: 'stand-in', skipTLSVerify: true, server: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}` },
    { name: 'nobody' },
  );
  return {
    kubeConfig,
    objects,
    asked,
    connected: () => new Promise((resolve) => server.getConnections((_error, count) => resolve(count))),
    write: (name) => {
      version++;
      const type = objects.has(name) ? 'MODIFIED' : 'ADDED';
      objects.set(name, version);
      record(type, name);
    },
    remove: (name) => {
      version++;
      if (objects.delete(name)) record('DELETED', name);
    },
    compact: () => {
      log = [];
      oldest = ++version;
    },
    expire: () => {
      expired++;
    },
    end: (ms = 0) => {
      endsUntil = performance.now() + ms;
      for (const watch of watches) watch.end();
      watches.clear();
    },
    cut: () => {
      watches.clear();
      server.closeAllConnections();
    },
    silence: () => {
      isSilent = true;
    },
    speak: () => {
      isSilent = false;
    },
    stop: () => {
      clearInterval(bookmarks);
      server.close();
      server.closeAllConnections();
    },
  };
}
