import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { stateOf } from '../../examples/supervisor/state.js';
import type { PrintedStep } from '../support/supervisor.js';
import { until } from '../support/until.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** The recipes in `sources` have a spec of their own, beside them. */
const folders = readdirSync(join(ROOT, 'examples'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && entry.name !== 'sources')
  .map(({ name }) => name);
const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: Record<string, string> };

/** Runs a script as a user does, and gives what it prints; rejects unless it exits 0. */
async function npm(script: string, ...args: readonly string[]): Promise<string> {
  const { stdout, stderr } = await promisify(execFile)('npm', ['run', '--silent', script, '--', ...args], { cwd: ROOT });
  expect(stderr).toBe('');
  return stdout;
}

describe.concurrent('an example', { timeout: 60_000 }, () => {
  // The recipes in sources have a spec of their own, beside them.
  it.each(folders)('should be run by one npm script: %s', (folder) => {
    expect(Object.values(scripts).filter((script) => script.includes(`examples/${folder}/`))).toHaveLength(1);
  });

  it.each(folders.filter((name) => name !== 'testing'))('should explain itself if asked by --help: %s', (folder) => {
    const main = readFileSync(join(ROOT, 'examples', folder, 'main.ts'), 'utf8');
    expect(main).toMatch(/optionsOf\(|parseArguments\(|'--help'|supervisor\/main/);
  });

  it('should print how to run it, and run nothing, if asked by --help', async () => {
    expect(await npm('example:dummy', '--help')).toMatch(/^Three streams .*npm run example:dummy -- \[--for <seconds>\]/s);
  });

  it('should say which option it does not know', async () => {
    const stderr: unknown = expect.stringMatching(/^Unknown option '--fro'/);
    await expect(npm('example:dummy', '--fro', '5')).rejects.toMatchObject({ code: 2, stderr });
  });

  it('should be run by any shell, that of Windows too, as all scripts', () => {
    const commands = Object.values(scripts).flatMap((script) => script.split(' && '));
    expect(commands.filter((command) => /^(exec |\w+=)|\$/.test(command))).toEqual([]);
  });

  it('should end in good order by a signal before it has begun', async () => {
    const root = mkdtempSync(join(tmpdir(), 'supervisor-'));
    const [, ...args] = (scripts['start'] ?? '').split(' ');
    // Between the listener and the compiler, which takes ten times as long.
    args.splice(args.indexOf('tsx') - 1, 0, '--import', 'data:text/javascript,process.stdout.write("begins")');
    const child = spawn(process.execPath, [...args, '--dir', root], { cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'] });
    await once(child.stdout, 'data');
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([0, null]);
    for (const folder of [stateOf(root), root]) rmSync(folder, { recursive: true, force: true });
  });

  it('should be started so that it ends in good order, if it goes on until it is told to end', () => {
    const mains = folders.filter(
      (name) => name !== 'testing' && /--for/.test(readFileSync(join(ROOT, 'examples', name, 'main.ts'), 'utf8')),
    );
    const started = Object.values(scripts).filter((script) => /examples\/sources\/start/.test(script));
    for (const folder of [...mains, 'supervisor', 'telemetry'])
      started.push(...Object.values(scripts).filter((script) => script.includes(`examples/${folder}/main.ts`)));
    expect(started.length).toBeGreaterThan(12);
    expect(started.filter((script) => !script.startsWith('node --import ./examples/graceful-exit.js --import tsx '))).toEqual([]);
  });

  it.skipIf(process.platform === 'win32')('should end in good order when the npm that has started it ends', async () => {
    const root = mkdtempSync(join(tmpdir(), 'supervisor-'));
    const log = join(root, 'state/services/web/0.log');
    try {
      for (const file of ['web.json', 'web.js']) cpSync(join(ROOT, 'examples/supervisor/services', file), join(root, file));
      writeFileSync(join(root, 'package.json'), '{ "type": "module" }');
      const args = ['run', '--silent', 'start', '--', '--json', '--dir', root, '--state', join(root, 'state')];
      const npm = spawn('npm', args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'] });
      let stdout = '';
      npm.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
      await until('it keeps its service running', () => /"succeeded","id":"web"/.test(stdout), 50_000).finally(() => npm.kill('SIGTERM'));
      // Not its exit: the example has its output still.
      await once(npm, 'close');
      expect(readFileSync(log, 'utf8')).toMatch(/closing\n$/);
    } finally {
      for (const folder of [stateOf(root), root]) rmSync(folder, { recursive: true, force: true });
    }
  });

  it('should be the supervisor: it starts all its services, prints a step a line, and ends after its time', async () => {
    const root = mkdtempSync(join(tmpdir(), 'supervisor-'));
    try {
      cpSync(join(ROOT, 'examples/supervisor/services'), root, { recursive: true });
      writeFileSync(join(root, 'package.json'), '{ "type": "module" }');
      const stdout = await npm('start', '--for', '5', '--json', '--dir', root, '--state', join(root, 'state'));
      const steps = stdout
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as PrintedStep);
      const ids = ['flaky', 'ticker', 'web', 'worker'];
      expect(steps.filter(({ kind }) => kind === 'started').map(({ id }) => id)).toEqual(expect.arrayContaining(ids));
      expect(readFileSync(join(root, 'state/services/web/0.log'), 'utf8')).toMatch(/listening on http:\/\/127\.0\.0\.1:\d+\n.*closing\n$/s);
    } finally {
      for (const folder of [stateOf(root), root]) rmSync(folder, { recursive: true, force: true });
    }
  });

  it('should be dummy: its streams ask for the four ids until its time is over', async () => {
    const stdout = await npm('example:dummy', '--for', '2.5');
    for (const id of ['a', 'b', 'c', 'd']) expect(stdout).toMatch(new RegExp(`Got reconcile call { id: '${id}', .*streams: 'resync' }`));
    expect(stdout).toMatch(/streams: '.*random1s' }/);
    expect(stdout).toMatch(/Finished running\n$/);
  });

  it('should be plain-sources: it hears of every id of every stream, and ends when these do', async () => {
    const stdout = await npm('example:plain-sources');
    const heard = [
      ...['alice  by orders', 'bob  by orders', 'polled-1  by polled', 'polled-3  by polled', 'clicked-bob  by clicks'],
      ...['fed-1.1  by fed', 'fed-2.1  by fed', 'fed-3.3  by fed', 'asked-200  by asked', 'fixed-2  by fixed'],
    ];
    const lines = stdout.split('\n').map((line) => line.replaceAll(/ +/g, '  ').replace('  by  ', '  by '));
    for (const line of heard) expect(lines).toContain(line);
    expect(stdout).toMatch(/All streams are complete; the one over HTTP broke off 2 times\n$/);
  });

  it('should be gallery: it finds a bug, and runs the version without it', async () => {
    expect(await npm('example:gallery')).toMatch(/^stale-read +Creates what its read did not show/m);
    const stdout = await npm('example:gallery', 'stale-read');
    expect(stdout).toMatch(/^The smallest schedule that shows it/m);
    expect(stdout).toMatch(/What mends it: .*\nThe fixed version passed 1,000 runs\n$/);
  });

  it('should be custom-loop: lanes do not wait for each other, and an id runs once for three changes', async () => {
    const stdout = await npm('example:custom-loop');
    const lines = stdout.split('\n').map((line) => line.replace(/^.* ms {2}lane +/, ''));
    const of = (lane: string) =>
      lines.filter((line) => line.startsWith(`${lane} `)).map((line) => line.slice(lane.length).trim().replaceAll(/ +/g, ' '));
    expect(of('0').slice(0, 4)).toEqual(['started acme/db', 'succeeded acme/db', 'started acme/web', 'succeeded acme/web']);
    expect(of('1')).toEqual(['started globex/db', 'requeued globex/db', 'started globex/db', 'succeeded globex/db']);
    expect(of('2')).toEqual(['started initech/db', 'succeeded initech/db']);
    expect(of('-1')).toEqual(['rejected nobody']);
    expect(lines.indexOf('1  started    globex/db')).toBeLessThan(lines.indexOf('0  started    acme/web'));
    expect(stdout).toMatch(/All has settled\n$/);
  });
});
