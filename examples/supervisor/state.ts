import { createHash } from 'node:crypto';
import { mkdirSync, realpathSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/** Where the state of a folder of services is kept unless the user says otherwise: by its path, and not by where a link in it leads. */
export function stateOf(dir: string): string {
  return join(tmpdir(), `kreconciler-supervisor-${process.getuid?.() ?? ''}-${shortHash(resolve(dir))}`);
}

/** Makes the folder, for nobody else to look into, and gives its real path. */
export function openState(path: string): string {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  const owner = statSync(path).uid;
  // In a temporary folder anyone can make a folder of this name first.
  if (owner !== process.getuid?.()) throw new Error(`Expected \`${path}\` to belong to this user, but it belongs to user ${owner}`);
  return realpathSync(path);
}

/** Names a folder in the marks of processes. */
export function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12);
}
