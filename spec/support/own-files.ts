import { readdirSync } from 'node:fs';
import { join } from 'node:path';

/** The folders whose files are the project's own; beside them there are the files of the root. */
const FOLDERS = ['.github', 'examples', 'lib', 'operators', 'spec'];

const FOREIGN = /(^|\/)(node_modules|dist|golden)(\/|$)/;

/** The paths of the project's own files whose names end as `pattern` says, relative to `root`. */
export function ownFiles(root: string, pattern: RegExp): string[] {
  const inFolders = FOLDERS.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((path) => `${folder}/${path}`),
  );
  return [...readdirSync(root), ...inFolders].filter((path) => pattern.test(path) && !FOREIGN.test(path)).sort();
}
