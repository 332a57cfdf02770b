/**
 * Replicas that share 10,000 rows of PostgreSQL, each row kept by exactly one of them.
 *
 *     npm run example:shards                        # three replicas and a real PostgreSQL, until Ctrl-C
 *     npm run example:shards -- --replicas 2 --for 30
 *     DATABASE_URL=postgres://... npm run example:shards
 *
 * On a terminal: `a` adds a replica, `k` kills one with SIGKILL, `s` stops one in good order. Or `kill -9` one from elsewhere.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { LiveBlock } from '../live-block.js';
import { optionsOf } from '../options.js';
import { keptDatabase, programOf } from '../postgres/kept-database.js';
import { drawBoard, type Seat } from './board.js';
import { change, countDrifted, setUp } from './rows.js';

const USAGE = `Replicas that share 10,000 rows of PostgreSQL, each row kept by exactly one of them.

  npm run example:shards -- [--replicas <1 to 9>] [--rows <n>] [--for <seconds>]      (default: 3, 10000, until Ctrl-C)

On a terminal: a adds a replica, k kills one with SIGKILL, s stops one in good order; or kill -9 one from elsewhere.
DATABASE_URL=postgres://... uses a server that runs; otherwise one is started.`;
const values = optionsOf(USAGE, {
  replicas: { type: 'string', default: '3' },
  rows: { type: 'string', default: '10000' },
  for: { type: 'string', default: 'Infinity' },
});
const [replicas, rows, seconds] = [Number(values.replicas), Number(values.rows), Number(values.for)];
if (!(Number.isInteger(replicas) && replicas >= 1 && replicas <= 9))
  throw new TypeError(`Expected --replicas to be from 1 to 9, got ${values.replicas}`);
if (!(Number.isInteger(rows) && rows >= 1)) throw new TypeError(`Expected --rows to be an integer >= 1, got ${values.rows}`);
if (!(seconds > 0)) throw new TypeError(`Expected --for to be a number of seconds > 0, got ${values.for}`);
/** The default of `shards`. */
const COUNT = 64;

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop.abort());
if (seconds < Infinity) setTimeout(() => stop.abort(), seconds * 1_000).unref();

const { url, client, end } = await keptDatabase(() => {
  stop.abort();
});
await setUp(client, rows);

interface Replica extends Seat {
  readonly child: ChildProcess;
  readonly ended: Promise<unknown>;
}
const started: Replica[] = [];
let drifted = rows;
const block = new LiveBlock(process.stdout, () => ['', ...board()]);
function board(): string[] {
  return drawBoard({ count: COUNT, seats: started, drifted, rows });
}
const say = (line: string): void => {
  block.print(`${new Date().toISOString().slice(11, 19)}  ${line}`);
};
/** Off a terminal the table is printed when it has changed. */
let printed = '';
function show(): void {
  if (process.stdout.isTTY) {
    block.refresh();
    return;
  }
  const key = started.map(({ name, owns }) => `${name}:${owns.join()}`).join(' ');
  if (key === printed) return;
  printed = key;
  console.log(board().join('\n'));
}

function add(): void {
  const name = String.fromCharCode(97 + started.length);
  const child = spawn(...programOf(new URL('replica.ts', import.meta.url), url, name), {
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  });
  const seat = { name, pid: child.pid, owns: [] as readonly number[], kept: 0, isAlive: true };
  const ended = once(child, 'close').then(([code, signal]) => {
    Object.assign(seat, { owns: [], isAlive: false });
    say(`${name} has ended by ${String(signal ?? code)}`);
  });
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (seat.isAlive) Object.assign(seat, JSON.parse(line));
    if (process.stdout.isTTY) show();
  });
  started.push(Object.assign(seat, { child, ended }));
  say(`${name} starts, pid ${String(child.pid)}`);
}
const alive = (): Replica[] => started.filter(({ isAlive }) => isAlive);

const keys: Readonly<Record<string, () => unknown>> = {
  a: add,
  k: () => alive().at(0)?.child.kill('SIGKILL'),
  s: () => alive().at(0)?.child.kill('SIGTERM'),
  q: () => {
    stop.abort();
  },
  // In raw mode Ctrl-C is a key as any.
  '\x03': () => {
    stop.abort();
  },
};
if (process.stdin.isTTY) {
  process.stdin.setRawMode(true).on('data', (key: Buffer) => keys[key.toString()]?.());
  say(`The rows are in ${url}; a adds a replica, k kills one, s stops one in good order, q ends all`);
} else {
  say(`The rows are in ${url}`);
}
for (let i = 0; i < replicas; i++) add();

while (!hasToStop()) {
  await change(client, rows, 20);
  drifted = await countDrifted(client);
  show();
  await sleep(500, undefined, { signal: stop.signal }).catch(() => undefined);
}
for (const { child } of alive()) child.kill('SIGTERM');
await Promise.all(started.map(({ ended }) => ended));
drifted = await countDrifted(client);
block.flush();
say(`All replicas have ended; ${rows - drifted} of ${rows} rows are as they are wanted`);
block.flush();
await end();
process.exit();

function hasToStop(): boolean {
  return stop.signal.aborted;
}
