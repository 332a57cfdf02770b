import type { ChildProcess } from 'node:child_process';
import { membersOf } from './cgroups.js';
import type { Ending, Process } from './ports.js';
import { type Listed, processTable } from './process-table.js';
import { isMarkOf, MARK, type ProcessRecord } from './records.js';

/** Signals with which people and supervisors end a process; by any other one it has ended itself. */
const FROM_OUTSIDE = ['SIGKILL', 'SIGTERM', 'SIGINT', 'SIGHUP'];

/** How often, in ms, it is looked what a process that is to end has started: that is to read all processes there are. */
const LOOK = 250;

/** How a process has ended. */
export interface End {
  /** In ms. */
  readonly lived: number;
  readonly isFault: boolean;
  readonly fromOutside: boolean;
}

/** A process that was started, by this supervisor or by an earlier one. */
export class Tracked implements Process {
  /** What it is expected to do: only an end that surprises is reported. */
  phase: 'starting' | 'running' | 'stopping';
  /** When it was started by us, or found, in ms of `performance.now()`. */
  readonly since = performance.now();
  #ending: { readonly how: string; readonly restAt: number } | undefined;
  /** What it has started and was seen while it lived, wherever that has gone since. */
  readonly #descendants = new Map<number, Listed>();
  #lookedAt = -Infinity;
  /** Resolves when it has ended, if it is a child of ours. */
  readonly ended: Promise<void>;

  constructor(
    readonly record: ProcessRecord,
    readonly child?: ChildProcess,
    /** How long, in ms, it must not be started again once it has so ended. */
    restAfter: (end: End) => number = () => 0,
  ) {
    this.phase = child === undefined ? 'running' : 'starting';
    this.ended = new Promise((resolve) => {
      child?.once('exit', (code, signal) => {
        const lived = performance.now() - this.since;
        const how = signal === null ? `exited with code ${code ?? 'unknown'}` : `was ended by ${signal}`;
        const fromOutside = signal !== null && FROM_OUTSIDE.includes(signal);
        const rest = restAfter({ lived, fromOutside, isFault: !fromOutside && code !== 0 });
        this.#ending = { how: `${how} after ${(lived / 1000).toFixed(1)} s`, restAt: performance.now() + rest };
        resolve();
      });
    });
  }

  get key(): string {
    return this.record.key;
  }

  get id(): string {
    return this.record.id;
  }

  get replica(): number {
    return this.record.replica;
  }

  get version(): string {
    return this.record.version;
  }

  get startedAt(): number | undefined {
    return this.record.startedAt;
  }

  get pid(): number {
    return this.record.pid;
  }

  /** Node reports the end of a child, and until then its pid is not given again. Others are looked up. */
  get ending(): Ending | undefined {
    if (this.child === undefined && this.#ending === undefined && processTable.startOf(this.pid) !== this.record.started)
      this.#ending = { how: 'ended', restAt: 0 };
    return this.#ending && { how: this.#ending.how, restartIn: Math.max(this.#ending.restAt - performance.now(), 0) };
  }

  /**
   * Where to send a signal that it is to get with all that it has started: its group while it lives, and then each process that
   * is in its control group, carries its mark, or was seen below it. Nothing else, whoever has its pid by now.
   */
  targets(): readonly number[] {
    const isAlive = this.ending === undefined;
    this.#lookBelow(isAlive);
    if (isAlive) return [-this.pid];
    const marked = processTable.carriers(MARK).flatMap(({ pid, value }) => (isMarkOf(this.key, value) ? [pid] : []));
    const { cgroup } = this.record;
    return [...new Set([...marked, ...this.#descendants.keys(), ...(cgroup === undefined ? [] : membersOf(cgroup))])];
  }

  /** Whoever has a group and an environment of its own is known by its parent only, and by that only as long as it lives. */
  #lookBelow(isAlive: boolean): void {
    for (const [pid, { started }] of this.#descendants) if (processTable.startOf(pid) !== started) this.#descendants.delete(pid);
    if (performance.now() < this.#lookedAt + LOOK) return;
    this.#lookedAt = performance.now();
    for (const pid of isAlive ? [this.pid] : [...this.#descendants.keys()])
      for (const child of processTable.descendants(pid)) this.#descendants.set(child.pid, child);
  }
}
