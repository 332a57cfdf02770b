/**
 * Installs the clients of the recipes that are named, or of all: `npm ci` in each folder that has a lock file, unless what is
 * installed there is of that lock file already.
 *
 *     tsx examples/sources/install.ts [NAME...]
 */
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The folders with a recipe in them. */
export const recipes: readonly string[] = readdirSync(import.meta.dirname).filter((name) =>
  existsSync(join(import.meta.dirname, name, 'main.ts')),
);

/** Installs what the recipe imports, where it is not there yet. */
export function install(recipe: string): void {
  const folder = join(import.meta.dirname, recipe);
  const lock = join(folder, 'package-lock.json');
  const installed = join(folder, 'node_modules', '.installed-lock.json');
  if (!existsSync(lock) || (existsSync(installed) && readFileSync(installed).equals(readFileSync(lock)))) return;
  console.warn(`Installs the client of ${recipe}, in ${join(folder, 'node_modules')}`);
  execFileSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
  copyFileSync(lock, installed);
}

if (process.argv[1] === import.meta.filename) {
  const names = process.argv.slice(2);
  for (const recipe of names.length > 0 ? names : recipes) install(recipe);
}
