import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { exponential } from 'kreconciler';
import { interval, merge, mergeMap, type Observable, Subject } from 'rxjs';
import { all } from './all.js';
import { Cgroups, groupOf, removeGroup } from './cgroups.js';
import { nameOf, type Process, type Processes } from './ports.js';
import { processTable } from './process-table.js';
import { MARK, markOf, parseMark, Records } from './records.js';
import type { Service } from './service.js';
import { type End, Tracked } from './tracked.js';

export interface OsProcessesConfig {
  /** The folder where it keeps what it has started, and the output of that. */
  readonly state: string;
  /** Names the state in the marks of the processes. */
  readonly name: string;
  /** How long, in ms, a process may take to end after SIGTERM; then it gets SIGKILL. */
  readonly grace: number;
  /** How long, in ms, a process must live for its start to have succeeded. Default 1000. */
  readonly settle?: number;
  /** Whether to use control groups, where there are such. Default true. */
  readonly cgroups?: boolean;
}

/** A process has ended by itself. */
export interface Death {
  readonly process: Process;
  /** It was just being started: whoever waits for that hears of it, so this is no event. */
  readonly early: boolean;
}

/** The rest after an end that came too soon, in ms by how many there were in a row. A start is good once it has lasted that long. */
const RESTS = exponential({ initial: 500, max: 30_000 });
const LASTING = 30_000;
/** How often, in ms, processes are looked at that are no children of ours and so cannot say that they end. */
const LOOK = 500;
/** The same while one waits for it. */
const POLL = 25;
/** How long, in ms, SIGKILL may take: a process in the midst of a system call takes a while. */
const KILL_GRACE = 5000;

/**
 * Real processes, each in a group of its own so that it can be stopped with all that it has started. They outlive the
 * supervisor: their output goes to files, so that no pipe of theirs breaks, and the next supervisor finds them by their
 * records and marks, and goes on with them.
 */
export class OsProcesses implements Processes {
  readonly #config: Required<OsProcessesConfig>;
  readonly #records: Records;
  readonly #cgroups: Cgroups | undefined;
  readonly #tracked = new Map<string, Tracked>();
  /** How often in a row a replica of a version has ended too soon. */
  readonly #soon = new Map<string, { readonly version: string; readonly times: number }>();
  readonly #deaths = new Subject<Death>();

  constructor(config: OsProcessesConfig) {
    this.#config = { settle: 1000, cgroups: true, ...config };
    this.#cgroups = this.#config.cgroups ? new Cgroups(config.name) : undefined;
    this.#records = new Records(config.state);
    for (const record of this.#records.all()) this.#tracked.set(record.key, new Tracked(record));
    this.#adoptStrays();
  }

  /** Who ends by itself. A child says so at once, one of an earlier supervisor is looked at every half second. */
  get deaths(): Observable<Death> {
    return merge(this.#deaths, interval(LOOK).pipe(mergeMap(() => this.#diedAdopted())));
  }

  /** The services of which there is a process. */
  ids(): readonly string[] {
    this.#adoptStrays();
    return [...new Set([...this.#tracked.values()].map(({ id }) => id))];
  }

  async list(id: string): Promise<readonly Process[]> {
    return [...this.#tracked.values()].filter((tracked) => tracked.id === id);
  }

  async start(id: string, replica: number, service: Service, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const tracked = await this.#spawn(id, replica, service);
    try {
      this.#records.write(tracked.record);
      await Promise.race([tracked.ended, delay(this.#config.settle, undefined, { signal })]);
    } finally {
      tracked.phase = 'running';
    }
  }

  async stop(process: Process, signal: AbortSignal): Promise<void> {
    const tracked = this.#tracked.get(process.key);
    if (tracked === undefined) return;
    tracked.phase = 'stopping';
    const { grace } = this.#config;
    if (!(await end(tracked, 'SIGTERM', grace, signal)) && !(await end(tracked, 'SIGKILL', KILL_GRACE, signal)))
      throw new Error(`${nameOf(tracked)} (pid ${tracked.pid}) does not end, not even by SIGKILL`);
    this.#records.remove(tracked.record);
    if (tracked.record.cgroup !== undefined) removeGroup(tracked.record.cgroup);
    this.#tracked.delete(tracked.key);
  }

  async stopAll(): Promise<void> {
    this.#adoptStrays();
    const { signal } = new AbortController();
    await all([...this.#tracked.values()].map((tracked) => this.stop(tracked, signal)));
  }

  /** Kills all there is, and waits for nothing. */
  killAll(): void {
    for (const tracked of this.#tracked.values()) for (const target of tracked.targets()) send(target, 'SIGKILL');
  }

  /** Nothing waits for anything between the start and its record: only SIGKILL comes between them, and then there is the mark. */
  async #spawn(id: string, replica: number, service: Service): Promise<Tracked> {
    const [command, ...args] = service.command;
    const identity = { key: randomUUID(), id, replica, version: service.version };
    const mark = markOf(this.#config.name, identity);
    const env = { ...process.env, ...service.env, REPLICA: String(replica), [MARK]: mark };
    const output = openSync(join(this.#records.folder(id), `${replica}.log`), 'a', 0o600);
    const start = () => spawn(command, args, { cwd: service.folder, env, detached: true, stdio: ['ignore', output, output] });
    let child: ChildProcess;
    let cgroup: string | undefined;
    try {
      if (this.#cgroups === undefined) child = start();
      else ({ started: child, group: cgroup } = this.#cgroups.within(identity.key, start));
    } finally {
      closeSync(output);
    }
    const { pid } = child;
    if (pid === undefined) {
      if (cgroup !== undefined) removeGroup(cgroup);
      const [error] = (await once(child, 'error')) as [Error];
      throw new Error(`${nameOf(identity)} cannot be started: ${error.message}`, { cause: error });
    }
    const tracked = new Tracked(
      { ...identity, pid, started: processTable.startOf(pid) ?? '', startedAt: Date.now(), cgroup },
      child,
      (end) => this.#restAfter(identity, end),
    );
    this.#tracked.set(identity.key, tracked);
    void tracked.ended.then(() => {
      if (tracked.phase !== 'stopping') this.#deaths.next({ process: tracked, early: tracked.phase === 'starting' });
    });
    return tracked;
  }

  /** The rest grows with each end that comes too soon. What is killed from outside may be back at once, but not again and again. */
  #restAfter({ id, replica, version }: Pick<Process, 'id' | 'replica' | 'version'>, { lived, isFault, fromOutside }: End): number {
    const name = nameOf({ id, replica });
    const before = this.#soon.get(name);
    const isSoon = lived < LASTING;
    const times = (before?.version === version && isSoon ? before.times : 0) + 1;
    if (isSoon) this.#soon.set(name, { version, times });
    else this.#soon.delete(name);
    if (fromOutside ? !isSoon || times === 1 : !isSoon && !isFault) return 0;
    return RESTS(fromOutside ? times - 1 : times, undefined);
  }

  /** What carries a mark of ours and no record. What was recorded comes first in the lists: it is the older claim. */
  #adoptStrays(): void {
    const strays = processTable.carriers(MARK).flatMap((carrier) => {
      const identity = parseMark(this.#config.name, carrier.value);
      return identity === undefined || this.#tracked.has(identity.key) ? [] : [{ carrier, identity }];
    });
    const leaders = strays.filter(({ carrier: { pid, group } }) => pid === group);
    for (const { carrier, identity } of [...leaders, ...strays]) {
      if (this.#tracked.has(identity.key)) continue;
      // Without its leader what is left of a group is no process of the service any more; it is to be stopped.
      const started = carrier.pid === carrier.group ? carrier.started : '';
      const cgroup = groupOf(carrier.pid);
      const isOwn = cgroup !== undefined && basename(cgroup) === identity.key;
      const tracked = new Tracked({ ...identity, pid: carrier.group, started, cgroup: isOwn ? cgroup : undefined });
      this.#tracked.set(identity.key, tracked);
      this.#records.write(tracked.record);
    }
  }

  #diedAdopted(): readonly Death[] {
    return [...this.#tracked.values()]
      .filter(({ child, phase, ending }) => child === undefined && phase === 'running' && ending !== undefined)
      .map((process) => {
        // Told once.
        process.phase = 'stopping';
        return { process, early: false };
      });
  }
}

/** Sends `signal` to a process and all that it has started, and waits until all are gone: whether they are `within` ms. */
async function end(tracked: Tracked, signal: NodeJS.Signals, within: number, abort: AbortSignal): Promise<boolean> {
  const told = new Set<number>();
  const begun = performance.now();
  for (;;) {
    const targets = tracked.targets();
    if (targets.length === 0) return true;
    if (told.size > 0 && performance.now() - begun > within) return false;
    for (const target of targets.filter((target) => !told.has(target))) {
      told.add(target);
      send(target, signal);
    }
    await delay(POLL, undefined, { signal: abort });
  }
}

function send(target: number, signal: NodeJS.Signals): void {
  try {
    process.kill(target, signal);
  } catch (error) {
    // It has ended meanwhile.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
