import type { ChildProcess } from 'node:child_process';
import type { Ending, Process } from './ports.js';
import { processTable } from './process-table.js';
import { isMarkOf, MARK, type ProcessRecord } from './records.js';

/** Signals with which people and supervisors end a process; by any other one it has ended itself. */
const FROM_OUTSIDE = ['SIGKILL', 'SIGTERM', 'SIGINT', 'SIGHUP'];

/** A process that was started, by this supervisor or by an earlier one. */
export class Tracked implements Process {
  /** What it is expected to do: only an end that surprises is told. */
  phase: 'starting' | 'running' | 'stopping';
  #ending: Ending | undefined;
  /** Resolves when it has ended, if it is a child of ours. */
  readonly ended: Promise<void>;

  constructor(
    readonly record: ProcessRecord,
    readonly child?: ChildProcess,
  ) {
    this.phase = child === undefined ? 'running' : 'starting';
    this.ended = new Promise((resolve) => {
      child?.once('exit', (code, signal) => {
        this.#ending = endingOf(code, signal);
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

  get pid(): number {
    return this.record.pid;
  }

  /** Node tells of the end of a child, and until then its pid is not given again. Others are looked up. */
  get ending(): Ending | undefined {
    if (this.child === undefined && this.#ending === undefined && processTable.startOf(this.pid) !== this.record.started)
      this.#ending = { how: 'ended', crashed: false };
    return this.#ending;
  }

  /**
   * Where to send a signal that it is to get with all that it has started: its group while it lives, and then each
   * process that carries its mark. Nothing else, whoever has its pid by now.
   */
  targets(): readonly number[] {
    if (this.ending === undefined) return [-this.pid];
    return processTable.carriers(MARK).flatMap(({ pid, value }) => (isMarkOf(this.key, value) ? [pid] : []));
  }
}

function endingOf(code: number | null, signal: NodeJS.Signals | null): Ending {
  return signal === null
    ? { how: `exited with code ${code ?? 'unknown'}`, crashed: code !== 0 }
    : { how: `was ended by ${signal}`, crashed: !FROM_OUTSIDE.includes(signal) };
}
