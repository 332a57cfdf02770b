/**
 * Replicas that keep processes as a table of PostgreSQL says: one leads, the others stand by.
 *
 *     npm run example:postgres                        # three replicas and a real PostgreSQL, until Ctrl-C
 *     npm run example:postgres -- --replicas 2 --for 20
 *     DATABASE_URL=postgres://... npm run example:postgres
 *
 * Then, elsewhere: `kill -9` the replica that leads, and see another one take over the processes that it left behind; or change
 * what is wanted: `UPDATE services SET spec = spec || '{"replicas": 3}' WHERE name = 'worker'`.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { OsProcesses } from '../supervisor/os-processes.js';
import { openState, shortHash, stateOf } from '../supervisor/state.js';
import { keptDatabase, programOf } from './kept-database.js';
import { setUp } from './schema.js';
import { optionsOf } from '../options.js';

const USAGE = `Replicas that keep processes as a table of PostgreSQL says: one leads, the others stand by.

  npm run example:postgres -- [--replicas <1 to 9>] [--for <seconds>]      (default: 3, until Ctrl-C)

DATABASE_URL=postgres://... uses a server that runs; otherwise one is started.`;
const values = optionsOf(USAGE, { replicas: { type: 'string', default: '3' }, for: { type: 'string', default: 'Infinity' } });
const replicas = Number(values.replicas);
const seconds = Number(values.for);
if (!(Number.isInteger(replicas) && replicas >= 1 && replicas <= 9))
  throw new TypeError(`Expected --replicas to be from 1 to 9, got ${values.replicas}`);
if (!(seconds > 0)) throw new TypeError(`Expected --for to be a number of seconds > 0, got ${values.for}`);

const folder = fileURLToPath(new URL('../supervisor/services', import.meta.url));
const state = openState(`${stateOf(folder)}-postgres`);
const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop.abort());
if (seconds < Infinity) setTimeout(() => stop.abort(), seconds * 1_000).unref();

const { url, client, end } = await keptDatabase(() => {
  stop.abort();
});
await setUp(client, folder);
console.log(`The table is in ${url}`);

await Promise.all(Array.from({ length: replicas }, (_, i) => keepRunning(String.fromCharCode(97 + i))));

// Nobody leads any more, so this is for us to do.
await new OsProcesses({ state, name: shortHash(state), grace: 3_000 }).stopAll();
console.log('All replicas and all processes have ended');
await end();

/** Runs a replica until we are to stop, and another one whenever it ends before. */
async function keepRunning(name: string): Promise<void> {
  while (!hasToStop()) {
    const replica = spawn(...programOf(new URL('replica.ts', import.meta.url), url, name, state, folder), {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    createInterface({ input: replica.stdout }).on('line', (line) => console.log(`${name}  ${line}`));
    const ended = once(replica, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
    const [code, signal] = await Promise.race([ended, aborted(replica, ended)]);
    if (hasToStop()) return;
    console.log(`${name}  ended by ${String(signal ?? code)}, and is started again in 3 s`);
    await sleep(3_000, undefined, { signal: stop.signal }).catch(() => undefined);
  }
}

function hasToStop(): boolean {
  return stop.signal.aborted;
}

async function aborted<T>(replica: ChildProcess, ended: Promise<T>): Promise<T> {
  await once(stop.signal, 'abort');
  replica.kill('SIGTERM');
  return ended;
}
