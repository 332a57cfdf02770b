import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, vi } from 'vitest';
import { processTable } from '../../examples/supervisor/process-table.js';
import { MARK, parseMark } from '../../examples/supervisor/records.js';
import { shortHash, stateOf } from '../../examples/supervisor/state.js';
import { onlyInIntegration } from './support.js';

const folder = fileURLToPath(new URL('../../examples/supervisor/services', import.meta.url));

/** The processes of services that there are, by service; `flaky` comes and goes. */
function services(): string[] {
  const state = shortHash(`${stateOf(folder)}-postgres`);
  const carriers = processTable.carriers(MARK).filter(({ pid, group }) => pid === group);
  return carriers.flatMap(({ pid, value }) => {
    const { id = '', replica = 0 } = parseMark(state, value) ?? {};
    return id === '' || id === 'flaky' ? [] : [`${id}.${replica} ${pid}`];
  });
}

describe.runIf(onlyInIntegration)('examples/postgres', () => {
  it(
    'should have another replica take over the very processes of a leader that is killed, and leave none behind on SIGTERM',
    { timeout: 90_000 },
    async () => {
      // As its script does. Not by npm, which passes a signal on to a shell only.
      const child = spawn(process.execPath, ['--import', 'tsx', 'examples/postgres/main.ts'], { stdio: ['ignore', 'pipe', 'inherit'] });
      const ended = new Promise((resolve) => child.once('close', resolve));
      const lines: string[] = [];
      createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
      const leader = (term: number) =>
        lines.flatMap((line) => new RegExp(`^(\\w)  leads, term ${term}, pid (\\d+)$`).exec(line)?.slice(1) ?? []);
      try {
        await vi.waitFor(() => expect(services()).toHaveLength(4), { timeout: 30_000, interval: 50 });
        const before = services();
        const [name, pid] = leader(1);
        process.kill(Number(pid), 'SIGKILL');
        await vi.waitFor(() => expect(leader(2)).not.toEqual([]), { timeout: 10_000, interval: 50 });
        const [next] = leader(2);
        expect(next).not.toBe(name);
        // It has looked at all of them, and changed nothing.
        const ids = ['ticker', 'web', 'worker'];
        await vi.waitFor(
          () =>
            expect(
              lines.filter((line) => /succeeded/.test(line) && line.startsWith(`${next}  `)).map((line) => line.split(/ +/)[1]),
            ).toEqual(expect.arrayContaining(ids)),
          { timeout: 10_000 },
        );
        expect(services()).toEqual(before);
      } finally {
        child.kill('SIGTERM');
      }
      expect(await ended).toBe(0);
      expect(lines.at(-1)).toBe('All replicas and all processes have ended');
      expect(services()).toEqual([]);
    },
  );
});
