import { execFile } from 'node:child_process';
import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { database } from '../../../examples/postgres/database.js';

const events = ['SIGHUP', 'SIGINT', 'SIGTERM', 'SIGBREAK', 'message', 'beforeExit', 'exit'] as const;
// Not bundled: its server is found beside it.
const exits = fileURLToPath(new URL('../../support/process/exits-with-database.ts', import.meta.url));

describe('database', () => {
  afterEach(() => vi.unstubAllEnvs());

  it('should leave to its user how the process ends, and itself only end its server with it', async () => {
    vi.stubEnv('DATABASE_URL', undefined);
    const handlers = () => Object.fromEntries(events.map((event) => [event, process.listenerCount(event)]));
    const before = handlers();

    const server = await database();
    const during = handlers();
    await server.stop();

    expect(during).toEqual({ ...before, exit: (before['exit'] ?? 0) + 1 });
    expect(handlers()).toEqual(before);
  });

  it('should leave no server behind when the process exits without a stop', async () => {
    vi.stubEnv('DATABASE_URL', undefined);
    const { stdout } = await promisify(execFile)(process.execPath, ['--import', 'tsx', exits]);
    const { port } = new URL(stdout.trim());

    await vi.waitFor(() => expect(answers(Number(port))).resolves.toBe(false), { timeout: 20_000, interval: 100 });
  });
});

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    for (const [event, answer] of [
      ['connect', true],
      ['error', false],
    ] as const) {
      socket.once(event, () => {
        socket.destroy();
        resolve(answer);
      });
    }
  });
}
