import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { lock } from '../../../examples/supervisor/lock.js';
import { processTable } from '../../../examples/supervisor/process-table.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'lock-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

const held = (number: number, pid: number, started = processTable.startOf(pid)) =>
  writeFileSync(join(folder, `lock.${number}`), JSON.stringify({ pid, started }));

describe('lock', () => {
  it('should be free where nobody has taken it', () => {
    expect(lock(folder)).toBeUndefined();
    expect(readdirSync(folder)).toEqual(['lock.1']);
  });

  it('should name a holder that lives, and leave its lock alone', () => {
    const child = spawn('sleep', ['1000']);
    held(7, child.pid!);
    expect(lock(folder)).toBe(child.pid);
    expect(readdirSync(folder)).toEqual(['lock.7']);
    child.kill('SIGKILL');
  });

  it('should be free if its holder is dead', () => {
    held(1, spawnSync('true').pid, 'long ago');
    expect(lock(folder)).toBeUndefined();
    expect(lock(folder)).toBe(process.pid);
  });

  it('should be free if the pid of its holder belongs to another process by now', () => {
    held(1, process.pid, 'long ago');
    expect(lock(folder)).toBeUndefined();
  });

  it('should be free if what is there is no lock', () => {
    writeFileSync(join(folder, 'lock.3'), '{ "pid"');
    expect(lock(folder)).toBeUndefined();
  });

  it('should look at the last one only, and clear away those before', () => {
    for (const number of [1, 2, 9]) held(number, process.pid, 'long ago');
    held(10, process.pid, 'not so long ago');
    expect(lock(folder)).toBeUndefined();
    expect(readdirSync(folder).sort()).toEqual(['lock.10', 'lock.11']);
  });
});
