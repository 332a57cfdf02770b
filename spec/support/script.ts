import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'tsup';
import { afterAll, beforeAll } from 'vitest';

const execute = promisify(execFile);

/** Runs the script in a process of its own, until that has exited by itself; rejects if it fails, or is not gone in time. */
export type Script = (args: readonly string[], flags?: readonly string[]) => Promise<{ stdout: string; stderr: string }>;

/** A script of `spec/support/process`, bundled once for all its runs: to compile the sources in each would take most of the time. */
export function script(name: string): Script {
  const folder = mkdtempSync(join(tmpdir(), 'kreconciler-'));
  beforeAll(() =>
    build({
      entry: [`spec/support/process/${name}.ts`],
      outDir: folder,
      format: 'esm',
      outExtension: () => ({ js: '.mjs' }),
      noExternal: [/./],
      config: false,
      silent: true,
    }),
  );
  afterAll(() => {
    rmSync(folder, { recursive: true });
  });
  return (args, flags = []) => execute(process.execPath, [...flags, join(folder, `${name}.mjs`), ...args], { timeout: 60_000 });
}
