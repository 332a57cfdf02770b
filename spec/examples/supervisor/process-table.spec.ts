import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type ProcessTable, procTable, psTable } from '../../../examples/supervisor/process-table.js';
import { until } from '../../support/until.js';

const tables: [string, ProcessTable][] = [['ps', psTable]];
if (existsSync('/proc/self/stat')) tables.push(['/proc', procTable]);

describe.each(tables)('the process table of %s', (_, table) => {
  it('should know a process by its start, and that it is gone', async () => {
    const child = spawn('sleep', ['1000']);
    const pid = child.pid!;
    const started = table.startOf(pid);
    expect(started).toBeTypeOf('string');
    expect(table.startOf(pid)).toBe(started);
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(table.startOf(pid)).toBeUndefined();
  });

  it('should tell processes apart that have the same pid by their starts', () => {
    expect(table.startOf(process.pid)).not.toBe(table.startOf(1));
  });

  it('should take a zombie for gone', async () => {
    // The shell becomes a sleep that waits for nobody, so its first child stays a zombie.
    const child = spawn('sh', ['-c', 'sleep 0 & echo $!; exec sleep 1000'], { stdio: ['ignore', 'pipe', 'ignore'] });
    try {
      const [data] = (await once(child.stdout, 'data')) as [Buffer];
      await until('it is gone', () => table.startOf(Number(data.toString())) === undefined);
    } finally {
      child.kill('SIGKILL');
    }
  });

  it('should find who carries a variable, and all that these have started', async () => {
    const name = `KRECONCILER_SPEC_${process.pid}`;
    const env = { ...process.env, [name]: 'a/0/%20' };
    const child = spawn('sh', ['-c', 'sleep 1000; echo'], { env, detached: true });
    try {
      const carriers = await until('both are there', () => {
        const found = table.carriers(name);
        return found.length === 2 ? found : undefined;
      });
      expect(carriers.map(({ value, group }) => [value, group])).toEqual([
        ['a/0/%20', child.pid],
        ['a/0/%20', child.pid],
      ]);
      expect(carriers.find(({ pid }) => pid === child.pid)?.started).toBe(table.startOf(child.pid!));
      const grandchild = carriers.find(({ pid }) => pid !== child.pid)!;
      const { pid, group, started } = grandchild;
      expect(table.descendants(process.pid)).toContainEqual(expect.objectContaining({ pid, group, started }));
      expect(table.descendants(child.pid!).map((below) => below.pid)).toEqual([pid]);
    } finally {
      process.kill(-child.pid!, 'SIGKILL');
    }
    await until('they are gone', () => table.carriers(name).length === 0);
  });
});
