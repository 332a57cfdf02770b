import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { describe, expect, it, vi } from 'vitest';
import { onlyInIntegration } from './support.js';

describe.runIf(onlyInIntegration)('examples/shards', () => {
  it(
    'should have the others take over the shards of a replica that is killed, and end in good order on SIGTERM',
    { timeout: 120_000 },
    async () => {
      const child = spawn(process.execPath, ['--import', 'tsx', 'examples/shards/main.ts', '--rows', '500'], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const ended = new Promise((resolve) => child.once('close', resolve));
      const lines: string[] = [];
      createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
      /** How many shards each has, by the last table; 'ended' in place of a pid is none. */
      const sizes = (): Record<string, number> => {
        const title = lines.findIndex(
          (line, i) => line.startsWith('replica') && !lines.slice(i + 1).some((later) => later.startsWith('replica')),
        );
        const rows = lines.slice(title + 1).flatMap((line) => /^(\w+) +(?:\d+|ended)? +(\d+) {2}[·▌▐█]/.exec(line)?.slice(1) ?? []);
        return Object.fromEntries(rows.flatMap((name, i) => (i % 2 === 0 ? [[name, Number(rows[i + 1])]] : [])));
      };
      const share = (expected: Record<string, unknown>) =>
        vi.waitFor(() => expect(sizes()).toEqual(expected), { timeout: 60_000, interval: 50 });
      const someOf64: unknown = expect.toSatisfy((size: number) => size === 21 || size === 22);
      try {
        await share({ a: someOf64, b: someOf64, c: someOf64, nobody: 0 });
        const [, pid] = lines.flatMap((line) => /a starts, pid (\d+)$/.exec(line) ?? []);
        process.kill(Number(pid), 'SIGKILL');
        await share({ a: 0, b: 32, c: 32, nobody: 0 });
        expect(lines).toContainEqual(expect.stringMatching(/a has ended by SIGKILL$/));
      } finally {
        child.kill('SIGTERM');
      }
      expect(await ended).toBe(0);
      expect(lines.at(-1)).toMatch(/All replicas have ended; \d+ of 500 rows are as they are wanted$/);
    },
  );
});
