import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { build } from 'tsup';
import { afterAll, beforeAll } from 'vitest';

/**
 * The path of a program, a `main.ts` say, bundled once for all its runs in a file of specs: to compile the sources in each
 * process takes five times as long as all else that it does.
 */
export function bundled(program: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'kreconciler-'));
  beforeAll(() =>
    build({
      entry: [program],
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
  return join(folder, basename(program).replace(/\.ts$/, '.mjs'));
}
