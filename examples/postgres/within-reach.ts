import { execFile } from 'node:child_process';
import { cp, stat, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

/*
 * PostgreSQL refuses to run as root, and so runs as a user of its own, who must be able to get at its programs and its data.
 */

/** A folder for temporary files that every user can enter. */
export async function openFolder(): Promise<string> {
  for (const folder of [tmpdir(), '/tmp', '/var/tmp']) if (await isOpen(folder)) return folder;
  throw new Error(`PostgreSQL cannot run as root, and other users cannot enter ${tmpdir()}: set TMPDIR to a folder that they can`);
}

/**
 * The folder of modules in which every user can execute what belongs to the package `name`: `modules` itself, or a copy below
 * `directory` where it lies out of reach of any user but root, as in the home of root.
 *
 * @param imports - what the package imports, which is for us alone to read
 */
export async function withinReach(
  modules: string,
  name: string,
  { imports, directory }: { readonly imports: readonly string[]; readonly directory: string },
): Promise<string> {
  if (await isOpen(join(modules, `@${name}`))) return modules;
  const copied = join(directory, 'node_modules');
  for (const copy of [name, `@${name}`]) await cp(join(modules, copy), join(copied, copy), { recursive: true, verbatimSymlinks: true });
  await promisify(execFile)('chmod', ['-R', 'a+rX', copied]);
  for (const link of imports) await symlink(join(modules, link), join(copied, link));
  return copied;
}

/** Whether every user can enter a folder, and all folders on the way there. */
async function isOpen(folder: string): Promise<boolean> {
  const { mode } = await stat(folder);
  const parent = dirname(folder);
  return (mode & 0o005) === 0o005 && (parent === folder || isOpen(parent));
}
