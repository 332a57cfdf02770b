import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** What a supervisor must know of a process to find it again after its own death. */
export interface ProcessRecord {
  /** Names this process among all that ever were. */
  readonly key: string;
  readonly id: string;
  readonly replica: number;
  readonly version: string;
  readonly pid: number;
  /** See ProcessTable.startOf. A pid alone says nothing: it is given again. */
  readonly started: string;
  /** The same in ms since 1970, for people. */
  readonly startedAt?: number | undefined;
  /** The control group that it is in, if there are such. */
  readonly cgroup?: string | undefined;
}

/** The records of what was started, one file a process, in a folder a service: `<state>/services/<id>/<key>.json`. */
export class Records {
  readonly #root: string;

  constructor(state: string) {
    this.#root = join(state, 'services');
    mkdirSync(this.#root, { recursive: true });
  }

  /** The folder of a service. An id is the name of a file, so it can name a folder. */
  folder(id: string): string {
    const folder = join(this.#root, id);
    mkdirSync(folder, { recursive: true });
    return folder;
  }

  all(): readonly ProcessRecord[] {
    // Somebody may have put other things there.
    const folders = readdirSync(this.#root, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    return folders.flatMap(({ name: id }) =>
      readdirSync(join(this.#root, id))
        .filter((name) => name.endsWith('.json'))
        .flatMap((name) => readRecord(join(this.#root, id, name))),
    );
  }

  /** Whoever reads it while it is written, or after a crash in the midst of it, sees the old state or the new one. */
  write(record: ProcessRecord): void {
    const path = join(this.folder(record.id), `${record.key}.json`);
    writeFileSync(`${path}.tmp`, JSON.stringify(record));
    renameSync(`${path}.tmp`, path);
  }

  remove({ id, key }: ProcessRecord): void {
    rmSync(join(this.folder(id), `${key}.json`), { force: true });
  }
}

/** What is no record is passed over: its process is found by the mark that it carries. */
function readRecord(path: string): readonly ProcessRecord[] {
  try {
    const { key, id, replica, version, pid, started, startedAt, cgroup } = JSON.parse(readFileSync(path, 'utf8')) as ProcessRecord;
    const known = [key, id, version, started].every((value) => typeof value === 'string') && [replica, pid].every(Number.isInteger);
    if (!known) return [];
    const isNumber = typeof startedAt === 'number';
    return [
      {
        ...{ key, id, replica, version, pid, started },
        startedAt: isNumber ? startedAt : undefined,
        cgroup: typeof cgroup === 'string' ? cgroup : undefined,
      },
    ];
  } catch {
    return [];
  }
}

/**
 * The mark that every process carries in its environment, and with it all that it starts. By it a process is found that was
 * started but not recorded, because the supervisor was killed between the two.
 */
export const MARK = 'KRECONCILER_SUPERVISOR';

export function markOf(
  state: string,
  { key, replica, version, id }: Omit<ProcessRecord, 'pid' | 'started' | 'startedAt' | 'cgroup'>,
): string {
  return [state, key, replica, version, encodeURIComponent(id)].join('/');
}

/** What a mark says, if it is one of this state. */
export function parseMark(state: string, mark: string): Omit<ProcessRecord, 'pid' | 'started' | 'startedAt' | 'cgroup'> | undefined {
  const [owner, key = '', replica, version = '', id = ''] = mark.split('/');
  return owner === state ? { key, replica: Number(replica), version, id: decodeURIComponent(id) } : undefined;
}

/** Whether a mark is that of the process with this key, or of what it has started. */
export function isMarkOf(key: string, mark: string): boolean {
  return mark.split('/')[1] === key;
}
