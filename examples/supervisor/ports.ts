import type { Service } from './service.js';

/** What is wanted. In life a folder of files, in a test whatever a test needs. */
export interface Services {
  /** What is wanted of `id`; `undefined`: that it does not run. */
  read(id: string): Promise<Service | undefined>;
}

/** What is. In life the processes of the operating system. */
export interface Processes {
  /** All there is of `id`, the dead that nobody has buried included. Of two processes with one number the first is the older claim. */
  list(id: string): Promise<readonly Process[]>;

  /**
   * Starts one process, and resolves once it seems to stay, or has ended, as the list then says. Rejects if it could not be
   * started, and then nothing is left of it; or if `signal` aborts, and then it goes on.
   */
  start(id: string, replica: number, service: Service, signal: AbortSignal): Promise<void>;

  /** Stops a process and all that it has started, or buries it if it is dead: afterwards it is not listed. */
  stop(process: Process, signal: AbortSignal): Promise<void>;
}

/** One process of a service. */
export interface Process {
  /** Distinguishes it from all processes there ever were. */
  readonly key: string;
  readonly id: string;
  /** Its number among its like, from 0. */
  readonly replica: number;
  /** The {@link Service.version} it was started with. */
  readonly version: string;
  readonly pid: number;
  /** When it was started, in ms since 1970, if that is known. */
  readonly startedAt?: number | undefined;
  /** How it ended, if it has. */
  readonly ending?: Ending | undefined;
}

export interface Ending {
  /** In words: `exited with code 1 after 0.1 s`. */
  readonly how: string;
  /** How long, in ms from now, it must not be started again; 0: it may be at once. */
  readonly restartIn: number;
}

/** `web.0` */
export function nameOf({ id, replica }: Pick<Process, 'id' | 'replica'>): string {
  return `${id}.${replica}`;
}
