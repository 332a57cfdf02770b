import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { processes } from '../support/sleepers.js';
import { Place, type Supervisor } from '../support/supervisor.js';
import { until } from '../support/until.js';

/**
 * A long and rough time for the supervisor: files are edited, broken, removed and mended, its processes are killed or
 * stopped in their tracks, and it is itself killed and started again, all at random. At no time may there be more of a
 * process than was ever wanted, and at the end there must be exactly what the files say.
 *
 *   npm run soak -- --for 600 --seed 42
 */
const { values } = parseArgs({
  options: { for: { type: 'string', default: '600' }, seed: { type: 'string', default: String(Date.now() % 1e6) } },
});
const [seconds, seed] = [Number(values.for), Number(values.seed)];
if (!(seconds > 0) || !Number.isInteger(seed))
  throw new TypeError(`Expected --for to be a number > 0 and --seed an integer, got ${values.for} and ${values.seed}`);

const BROKEN = ['', '{', '{ "command": 1 }', '{ "command": ["sleep"], "replicas": "x" }'];
const IDS = ['a', 'b', 'c', 'd', 'e', 'f'];
/** How long, in ms, it may take until all is right at the end: the longest backoff and a little. */
const SETTLE = 60_000;

/** A number from 0 up to 1. mulberry32. */
let state = seed;
const random = () => {
  state = (state + 0x6d2b79f5) | 0;
  let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
};
const below = (n: number) => Math.floor(random() * n);
const pick = <T>(values: readonly T[]) => values[below(values.length)] as T;

/** What is wanted of an id: each sleep is so long as no other one is, and runs once a replica. */
interface Wanted {
  readonly sleeps: readonly string[];
  readonly replicas: number;
}

const place = new Place();
const wanted = new Map<string, Wanted>();
/** The most that was ever wanted of a sleep. */
const most = new Map<string, number>();
/** Sleeps that were killed beneath their shell: it goes on without them, which no supervisor can see. */
const maimed = new Set<string>();
const done = new Map<string, number>();
const faults: string[] = [];
let sleeps = 0;
let supervisor: Supervisor = start();

function start(): Supervisor {
  return place.supervise('--grace', '0.5');
}

function nextSleep(): string {
  sleeps++;
  // A day and more; no two soaks that go on at the same time have one in common.
  return `${10_000 + (process.pid % 80_000)}${String(sleeps).padStart(5, '0')}`;
}

/** A single process; or a shell with two children, which it leaves behind when it is killed; or one that hears no SIGTERM. */
function commandOf(sleeps: readonly string[], isDeaf: boolean): readonly string[] {
  const [first = '', second] = sleeps;
  if (second === undefined) return ['sleep', first];
  return ['sh', '-c', `${isDeaf ? "trap '' TERM; " : ''}sleep ${first} & sleep ${second} & wait`];
}

function edit(id: string): void {
  const old = wanted.get(id);
  const replicas = below(4);
  const isWhole = old?.sleeps.some((sleep) => maimed.has(sleep)) !== true;
  const sleeps = old !== undefined && isWhole && random() < 0.5 ? old.sleeps : Array.from({ length: 1 + below(2) }, nextSleep);
  wanted.set(id, { sleeps, replicas });
  for (const sleep of sleeps) most.set(sleep, Math.max(most.get(sleep) ?? 0, replicas));
  place.write(id, { command: commandOf(sleeps, sleeps.at(-1)?.endsWith('7') === true), replicas });
}

/** What runs of it goes on as it was, so what is wanted stays the same. */
function breakFile(): void {
  place.write(pick([...wanted.keys()]), pick(BROKEN));
}

function editAll(): void {
  for (const id of IDS) edit(id);
}

function signalOne(signal: NodeJS.Signals): void {
  const all = sleeping();
  if (all.length === 0) return;
  const { pid, sleep } = pick(all);
  if ([...wanted.values()].some(({ sleeps }) => sleeps.length > 1 && sleeps.includes(sleep))) maimed.add(sleep);
  send(pid, signal);
}

/** The leader of a group: what it has started stays behind. */
function killLeader(): void {
  const folder = join(place.state, 'services', pick(IDS));
  const records = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.json')) : [];
  if (records.length === 0) return;
  try {
    const { pid } = JSON.parse(readFileSync(join(folder, pick(records)), 'utf8')) as { pid: number };
    if (processes().some((process) => process.pid === pid && /^(sleep|sh -c .*sleep) /.test(process.args))) send(pid, 'SIGKILL');
  } catch {
    // The record has gone meanwhile.
  }
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended meanwhile.
  }
}

async function restart(signal: NodeJS.Signals): Promise<void> {
  // It cannot end in good order before it has begun.
  if (signal === 'SIGTERM') await until('the supervisor has begun', () => supervisor.stdout !== '');
  const { code } = await supervisor.kill(signal);
  if (signal !== 'SIGKILL' && code !== 0)
    faults.push(`The supervisor exited with code ${code ?? 'none'} on ${signal}: ${supervisor.stderr}`);
  supervisor = start();
}

const DEEDS: Readonly<Record<string, { readonly weight: number; readonly act: () => void | Promise<void> }>> = {
  'edit a file': {
    weight: 8,
    act: () => {
      edit(pick(IDS));
    },
  },
  'break a file': { weight: 2, act: breakFile },
  'remove a file': {
    weight: 2,
    act: () => {
      const id = pick([...wanted.keys()]);
      wanted.delete(id);
      place.delete(id);
    },
  },
  'kill a process': {
    weight: 6,
    act: () => {
      signalOne('SIGKILL');
    },
  },
  'kill a leader': { weight: 4, act: killLeader },
  'stop a process in its tracks': {
    weight: 1,
    act: () => {
      signalOne('SIGSTOP');
    },
  },
  'kill the supervisor': { weight: 2, act: () => restart('SIGKILL') },
  'restart the supervisor': { weight: 1, act: () => restart('SIGTERM') },
};

const urn = Object.entries(DEEDS).flatMap(([name, { weight }]) => Array.from({ length: weight }, () => name));

/** The sleeps of ours, as `ps` shows them. */
function sleeping(): readonly { readonly pid: number; readonly sleep: string }[] {
  return processes().flatMap(({ pid, args }) => {
    const sleep = args.startsWith('sleep ') ? args.slice('sleep '.length) : '';
    return most.has(sleep) ? [{ pid, sleep }] : [];
  });
}

function ours(): readonly number[] {
  return sleeping().map(({ pid }) => pid);
}

/** How often each is there. */
function counts(): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { sleep } of sleeping()) counts.set(sleep, (counts.get(sleep) ?? 0) + 1);
  return counts;
}

/** What differs between what runs and what is wanted. */
function differences(): readonly string[] {
  const desired = new Map([...wanted.values()].flatMap(({ sleeps, replicas }) => sleeps.map((sleep) => [sleep, replicas] as const)));
  const actual = counts();
  return [...most.keys()].flatMap((sleep) => {
    const [is, shall] = [actual.get(sleep) ?? 0, desired.get(sleep) ?? 0];
    return is === shall ? [] : [`sleep ${sleep}: ${shall} wanted, ${is} running`];
  });
}

async function soak(): Promise<void> {
  console.log(`Soaking the supervisor for ${seconds} s, seed ${seed}`);
  editAll();
  const end = performance.now() + seconds * 1000;
  while (performance.now() < end) {
    await delay(below(500));
    if (wanted.size < 2) editAll();
    const deed = pick(urn);
    await DEEDS[deed]?.act();
    done.set(deed, (done.get(deed) ?? 0) + 1);
    for (const [sleep, count] of counts()) {
      if (count > (most.get(sleep) ?? 0))
        faults.push(`After "${deed}": sleep ${sleep} runs ${count} times, at most ${most.get(sleep) ?? 0} were wanted`);
    }
  }

  // What was broken is mended, and then all must come right by itself.
  editAll();
  const begun = performance.now();
  while (differences().length > 0 && performance.now() - begun < SETTLE) await delay(200);
  const [ids, count] = [wanted.size, [...wanted.values()].reduce((sum, { replicas }) => sum + replicas, 0)];
  console.log(`Waited ${((performance.now() - begun) / 1000).toFixed(1)} s for the ${count} processes of ${ids} services`);
  // Right once is not enough: it must stay so.
  await delay(2000);
  faults.push(...differences());

  const { code } = await supervisor.kill('SIGINT');
  if (code !== 0) faults.push(`The supervisor exited with code ${code ?? 'none'} on SIGINT: ${supervisor.stderr}`);
  for (const [sleep, count] of counts()) faults.push(`sleep ${sleep} runs ${count} times after the end`);
}

try {
  await soak();
} catch (error) {
  faults.push(String(error));
} finally {
  await place[Symbol.asyncDispose]();
  // Whatever has failed, nothing of it shall stay.
  for (const pid of ours()) send(pid, 'SIGKILL');
}
console.log([...done].map(([deed, times]) => `${String(times).padStart(5)}  ${deed}`).join('\n'));
console.log(faults.length === 0 ? 'All is as it should be' : `${faults.join('\n')}\n${faults.length} faults, seed ${seed}`);
process.exitCode = faults.length === 0 ? 0 : 1;
