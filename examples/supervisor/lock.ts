import { linkSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { processTable } from './process-table.js';

/**
 * Takes the lock of a folder for as long as this process lives, however it ends. A lock is a file that names its holder by
 * pid and start time; one whose holder is gone is stale.
 *
 * Each holder has a number, and the highest one counts: a stale lock is not removed but outbid, and of several who try that
 * at once only one can create the next number. (To remove a stale lock is a race: it may be a new one by then.)
 *
 * @returns the pid of the holder if there is another one, else `undefined`: the lock is taken
 */
export function lock(folder: string): number | undefined {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const own = join(folder, `.lock.${process.pid}`);
  writeFileSync(own, JSON.stringify({ pid: process.pid, started: processTable.startOf(process.pid) }));
  try {
    for (;;) {
      const last = Math.max(0, ...numbersIn(folder));
      const holder = last === 0 ? undefined : holderOf(join(folder, `lock.${last}`));
      if (holder !== undefined) return holder;
      if (!take(own, join(folder, `lock.${last + 1}`))) continue;
      // The one before it stays, so that there is never a moment without a lock.
      for (const number of numbersIn(folder)) if (number < last) rmSync(join(folder, `lock.${number}`), { force: true });
      return undefined;
    }
  } finally {
    rmSync(own, { force: true });
  }
}

function numbersIn(folder: string): readonly number[] {
  return readdirSync(folder)
    .flatMap((name) => /^lock\.(\d+)$/.exec(name)?.[1] ?? [])
    .map(Number);
}

/** A link appears with its content, or not at all if there is one already. */
function take(own: string, path: string): boolean {
  try {
    linkSync(own, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function holderOf(path: string): number | undefined {
  try {
    const { pid, started } = JSON.parse(readFileSync(path, 'utf8')) as { readonly pid: number; readonly started: string };
    return processTable.startOf(pid) === started ? pid : undefined;
  } catch {
    return undefined;
  }
}
