import { checkCommand, type Command } from './command.js';
import type { ReconcileSettings } from './config.js';
import { Pauses } from './pauses.js';
import { route } from './route.js';
import type { Trampoline } from './trampoline.js';
import type { Workqueue } from './workqueue.js';

/** A lane, as commands see it. */
export interface CommandedLane {
  readonly queue: Workqueue;
  /** What has changed may let something start, or be the end. */
  go(): void;
  /** Keeps `work` for later if nothing may change now, and says so. */
  defer(work: () => void): boolean;
}

/** Obeys commands for a whole loop. What is paused is known here and not in lanes, which are born late (C4). */
export class Commands {
  readonly pauses = new Pauses();
  readonly #lanes = new Set<CommandedLane>();

  constructor(
    readonly settings: ReconcileSettings,
    readonly trampoline: Trampoline,
  ) {}

  join(lane: CommandedLane): void {
    this.#lanes.add(lane);
  }

  leave(lane: CommandedLane): void {
    this.#lanes.delete(lane);
  }

  /** Takes anything: a command that is none is a step, and cannot end the loop. One that a step causes waits until that was seen. */
  obey(value: unknown): void {
    this.trampoline.flush(() => {
      this.#take(value);
    });
  }

  #take(value: unknown): void {
    try {
      checkCommand(value);
    } catch (error) {
      const id = idOf(value);
      // One that has no worker is no less malformed: it is one step in any case.
      const routed = id === '' ? -1 : route(id, this.settings);
      const worker = typeof routed === 'number' ? routed : -1;
      this.trampoline.emit({ kind: 'rejected', id, worker, at: this.#now(), reason: 'invalid_command', error });
      return;
    }
    const { id } = value;
    if (id === undefined) {
      this.#obey(value, undefined, -1);
      return;
    }
    const worker = this.#workerOf(id);
    if (worker !== undefined) this.#obey(value, id, worker);
  }

  /** There will be no more: what is paused can be resumed by nobody (P1). */
  ended(): void {
    this.pauses.isFinal = true;
    this.#look();
  }

  #obey(command: Command, id: string | undefined, worker: number): void {
    for (const lane of this.#lanes) {
      if (
        lane.defer(() => {
          this.#obey(command, id, worker);
        })
      )
        return;
    }
    const at = this.#now();
    const step = { id: id ?? '', worker, at };
    if (command.kind === 'discard') {
      for (const { queue } of this.#lanes) queue.discard(command.id, at);
    } else if (command.kind === 'pause') {
      const { why } = command;
      if (!this.pauses.pause(id, why)) return;
      for (const { queue } of this.#lanes) if (id !== undefined) queue.pause(id);
      this.trampoline.push({ kind: 'paused', ...step, ...(why !== undefined && { why }) });
    } else {
      if (!this.pauses.resume(id)) return;
      this.trampoline.push({ kind: 'resumed', ...step });
      for (const { queue } of this.#lanes) queue.resume(id, at);
    }
    this.#look();
  }

  #look(): void {
    for (const lane of this.#lanes) lane.go();
  }

  /** The lane of `id`; if it has none, a step says so. */
  #workerOf(id: string): number | undefined {
    const routed = route(id, this.settings);
    if (typeof routed === 'number') return routed;
    // No event asked for it, so there is no trigger.
    const { kind, worker, at, reason, error } = routed;
    this.trampoline.emit({ kind, id, worker, at, reason, ...(error !== undefined && { error }) });
    return undefined;
  }

  #now(): number {
    return this.settings.scheduler.now();
  }
}

function idOf(command: unknown): string {
  try {
    const { id } = command as { readonly id?: unknown };
    return typeof id === 'string' ? id : '';
  } catch {
    return '';
  }
}
