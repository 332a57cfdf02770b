import { readFileSync } from 'node:fs';

/**
 * Whether orphans become zombies: they become children of process 1, and Node waits for none that it has not started itself.
 *
 * @param pid - ours
 * @param first - the name of process 1
 */
export function leavesZombies(pid: number, first: string): boolean {
  return pid === 1 || /^(node|npm)\b/.test(first);
}

/** The name of process 1, where the system says it. */
export function firstProcess(): string {
  try {
    return readFileSync('/proc/1/comm', 'utf8').trim();
  } catch {
    return '';
  }
}
