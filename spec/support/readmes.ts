import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import * as rxjs from 'rxjs';
import * as all from 'kreconciler';
import * as engine from 'kreconciler/operators';
import * as etcd from 'kreconciler/etcd';
import * as postgres from 'kreconciler/postgres';
import * as testing from 'kreconciler/testing';
import * as view from 'kreconciler/view';
import { ownFiles } from './own-files.js';

export const root = join(import.meta.dirname, '../..');

/** All documents of the project by their paths. */
export const documents = new Map(ownFiles(root, /\.md$/).map((path) => [path, readFileSync(join(root, path), 'utf8')]));

/** The fenced blocks of a text: what stands behind the fence, and what is inside. */
function fencesOf(text: string): { info: string; inside: string }[] {
  return [...text.matchAll(/^```(.*)\n([^]*?)^```$/gm)].map(([, info = '', inside = '']) => ({ info, inside }));
}

/** A block of TypeScript in a document. Its name stands behind the language, where no reader sees it. */
export interface Block {
  readonly path: string;
  readonly name: string;
  readonly code: string;
}

/** All but those of the recipes in `examples/sources`, whose dependencies are not ours. */
export const blocks: readonly Block[] = [...documents].flatMap(([path, text]) =>
  (path.startsWith('examples/sources/') ? [] : fencesOf(text))
    .filter(({ info }) => /^ts\b/.test(info))
    .map(({ info, inside }) => ({ path, name: info.slice(2).trim(), code: inside })),
);

/** The code of the block `name`. */
export function blockOf(name: string): string {
  const found = blocks.find((block) => block.name === name);
  if (found === undefined) throw new Error(`No document has a block \`${name}\``);
  return found.code;
}

/** The block of the document at `path` that has no language and begins with `start`: what something prints. */
export function outputOf(path: string, start: string): string {
  const found = fencesOf(documents.get(path) ?? '').find(({ info, inside }) => info === '' && inside.startsWith(start));
  if (found === undefined) throw new Error(`${path} has no block that begins with \`${start}\``);
  return found.inside;
}

const modules: Readonly<Record<string, object>> = {
  rxjs,
  kreconciler: all,
  'kreconciler/operators': engine,
  'kreconciler/etcd': etcd,
  'kreconciler/postgres': postgres,
  'kreconciler/testing': testing,
  'kreconciler/view': view,
};

/**
 * Runs the block `name` with the names of `given` beside all of rxjs and of `kreconciler`, and returns what it declares under
 * the names `results`. `imported` stands in for what it imports.
 */
export async function ran(
  name: string,
  given: Readonly<Record<string, unknown>>,
  results: readonly string[] = [],
  imported: Readonly<Record<string, object>> = {},
): Promise<Record<string, unknown>> {
  const { outputText } = ts.transpileModule(blockOf(name), {
    compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 },
  });
  const code = outputText
    .replace(/^import \{(.*?)\} from ('.*?');$/gm, 'const {$1} = modules[$2];')
    .replace(/^import (\w+) from ('.*?');$/gm, 'const { default: $1 } = modules[$2];')
    .replace(/^export \{\};$/m, '');
  const scope = { ...rxjs, ...all, ...given, modules: { ...modules, ...imported } };
  const AsyncFunction = (async () => {}).constructor as new (...args: string[]) => (...args: unknown[]) => Promise<Record<string, unknown>>;
  const run = new AsyncFunction(...Object.keys(scope), `{\n${code}\nreturn { ${results.join(', ')} };\n}`);
  return run(...Object.values(scope));
}
