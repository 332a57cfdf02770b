import { mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * A control group for each process that is started, where there are such: on Linux, with cgroup v2 mounted and a group of ours
 * that this user may divide (root, a container with a cgroup namespace of its own, systemd with `Delegate=yes`). What a process
 * starts is born in its group, and can change its session, its environment and its parent, but not leave the group.
 */
export class Cgroups {
  /** The group of this process. */
  readonly #own: string | undefined;
  /** The one around those of what it starts. */
  readonly #all: string;

  constructor(name: string) {
    this.#own = ownGroup();
    this.#all = join(this.#own ?? '', `kreconciler-${name}`);
    if (this.#own !== undefined) for (const group of groupsIn(this.#all)) removeGroup(group);
  }

  /** Calls `start`, and with it whatever process that starts, in a new group, and says which one; in none where there are none. */
  within<T>(key: string, start: () => T): { readonly started: T; readonly group: string | undefined } {
    const group = this.#enter(key);
    try {
      return { started: start(), group };
    } finally {
      // Only we went in, and a child is born where its parent is: it cannot have started anything outside.
      if (group !== undefined) writeFileSync(procs(this.#own as string), '0');
    }
  }

  #enter(key: string): string | undefined {
    if (this.#own === undefined) return undefined;
    const group = join(this.#all, key);
    try {
      mkdirSync(group, { recursive: true });
      writeFileSync(procs(group), '0');
      return group;
    } catch {
      removeGroup(group);
      return undefined;
    }
  }
}

/** Empty ones stay behind if a supervisor is killed before it has started anything in them. */
function groupsIn(group: string): readonly string[] {
  try {
    const entries = readdirSync(group, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(group, name));
  } catch {
    return [];
  }
}

/** The pids in a group, or none if it is gone. */
export function membersOf(group: string): readonly number[] {
  try {
    // 0: a process of which we cannot see the pid.
    return readFileSync(procs(group), 'utf8')
      .split('\n')
      .map(Number)
      .filter((pid) => pid > 0 && pid !== process.pid);
  } catch {
    return [];
  }
}

/** Removes a group that is empty, and the one around it if it was the last. */
export function removeGroup(group: string): void {
  for (const folder of [group, dirname(group)]) {
    try {
      rmdirSync(folder);
    } catch {
      return;
    }
  }
}

/** The group that `pid` is in. */
export function groupOf(pid: number | 'self'): string | undefined {
  try {
    const mount = readFileSync('/proc/self/mountinfo', 'utf8')
      .split('\n')
      .find((line) => line.includes(' - cgroup2 '))
      ?.split(' ')[4];
    const path = /^0::(.*)$/m.exec(readFileSync(`/proc/${pid}/cgroup`, 'utf8'))?.[1];
    return mount === undefined || path === undefined ? undefined : join(mount, path);
  } catch {
    return undefined;
  }
}

function ownGroup(): string | undefined {
  const own = groupOf('self');
  try {
    // As it is: it only shows whether we may come back from where we are going.
    if (own !== undefined) writeFileSync(procs(own), '0');
    return own;
  } catch {
    return undefined;
  }
}

function procs(group: string): string {
  return join(group, 'cgroup.procs');
}
