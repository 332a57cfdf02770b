import { type Reconciler, RetryError } from 'kreconciler';
import { all } from './all.js';
import { nameOf, type Process, type Processes, type Services } from './ports.js';
import type { Service } from './service.js';

/** How a service stands. */
export interface Status {
  readonly id: string;
  readonly desired: number;
  readonly running: number;
  /** Those that run. */
  readonly pids: readonly number[];
  /** When the one was started that runs for the longest, in ms since 1970, as far as that is known. */
  readonly since: number | undefined;
  /** The run at hand has something to change, or has changed it. */
  readonly isChanging: boolean;
}

export interface World {
  readonly services: Services;
  readonly processes: Processes;
  /** Called at the beginning of each run, when it begins to change something, and at its end. */
  readonly tell?: ((status: Status) => void) | undefined;
}

/**
 * Makes the processes of a service what its file says.
 *
 * It remembers nothing: it reads what is wanted, reads what is, and changes what differs, so that it does not matter which
 * event called it, or how many were lost. What it cannot read or do it throws, and the loop tries again later.
 */
export function supervise({ services, processes, tell = () => undefined }: World): Reconciler {
  return async (id, { signal }) => {
    const service = await services.read(id);
    let isChanging = false;
    const status = async () => {
      const running = (await processes.list(id)).filter(({ ending }) => ending === undefined);
      const starts = running.flatMap(({ startedAt }) => startedAt ?? []);
      tell({
        id,
        desired: service?.replicas ?? 0,
        running: running.length,
        pids: running.map(({ pid }) => pid),
        since: starts.length === 0 ? undefined : Math.min(...starts),
        isChanging,
      });
    };
    await status();
    try {
      const found = await processes.list(id);
      const kept = keep(found, service);
      // What has crashed rests, whichever event has called: nothing makes its backoff shorter.
      const resting = found.filter((process) => restartIn(process) > 0 && isWanted(process, service));
      const others = found.filter((process) => !kept.has(process) && !resting.includes(process));
      const taken = new Set([...kept, ...resting].map(({ replica }) => replica));
      const missing = numbers(service).filter((replica) => !taken.has(replica));
      if (others.length + missing.length > 0) {
        isChanging = true;
        await status();
      }
      // All that must go has gone before anything starts: the old web server holds the port of the new one.
      await all(others.map((process) => processes.stop(process, signal)));
      await all(missing.map((replica) => processes.start(id, replica, service as Service, signal)));
      // Also what has ended as soon as it was started. The retry comes when the first of them may be started again.
      const down = (await processes.list(id)).filter((process) => process.ending !== undefined && isWanted(process, service));
      if (down.length > 0) throw new RetryError(down.map(inWords).join(', '), Math.min(...down.map(restartIn)));
    } finally {
      await status();
    }
  };
}

function restartIn({ ending }: Process): number {
  return ending?.restartIn ?? 0;
}

function inWords(process: Process): string {
  return `${nameOf(process)} ${process.ending?.how ?? 'runs'}`;
}

/** The processes that may go on: alive, wanted, and one a number. */
function keep(found: readonly Process[], service: Service | undefined): Set<Process> {
  const kept = new Map<number, Process>();
  for (const process of found) {
    if (process.ending === undefined && isWanted(process, service) && !kept.has(process.replica)) kept.set(process.replica, process);
  }
  return new Set(kept.values());
}

function isWanted({ replica, version }: Process, service: Service | undefined): boolean {
  return service !== undefined && replica < service.replicas && version === service.version;
}

function numbers(service: Service | undefined): readonly number[] {
  return Array.from({ length: service?.replicas ?? 0 }, (_, replica) => replica);
}
