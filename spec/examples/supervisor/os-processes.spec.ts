import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { OsProcesses } from '../../../examples/supervisor/os-processes.js';
import type { Process } from '../../../examples/supervisor/ports.js';
import type { Service } from '../../../examples/supervisor/service.js';
import { sleepers, uniqueSleep } from '../../support/sleepers.js';
import { until } from '../../support/until.js';

const { signal } = new AbortController();
let state: string;
let processes: OsProcesses;
/** Without control groups: this process would enter them, with all the other specs that are its threads. */
const open = () => new OsProcesses({ state, name: 'spec', grace: 2000, settle: 20, cgroups: false });
beforeEach(() => {
  state = mkdtempSync(join(tmpdir(), 'processes-'));
});
afterEach(async () => {
  await processes.stopAll();
  rmSync(state, { recursive: true });
});

const service = (script: string, version = 'v1'): Service => ({
  command: ['sh', '-c', script],
  env: {},
  folder: '/',
  replicas: 1,
  version,
});

/** Starts a service, waits until it has ended, and buries it: how that was. */
async function lifeOf(script: string, version?: string, signal_?: NodeJS.Signals): Promise<{ how: string; restartIn: number }> {
  await processes.start('web', 0, service(script, version), signal);
  const [process_] = (await processes.list('web')) as [Process];
  if (signal_ !== undefined) process.kill(process_.pid, signal_);
  const ending = await until('it has ended', () => process_.ending);
  await processes.stop(process_, signal);
  return ending;
}

describe('OsProcesses', () => {
  it.each([
    ['crashes', 'sleep 0.1; exit 4', /^exited with code 4 after 0\.\d s$/],
    ['crashes at once', 'exit 4', /^exited with code 4 after 0\.\d s$/],
    ['ends well, though too soon', 'sleep 0.1', /^exited with code 0 after 0\.\d s$/],
  ])('should let rest ever longer what %s again and again, also if each start has seemed good', async (_, script, how) => {
    processes = open();
    for (const rest of [500, 1000, 2000, 4000]) {
      const ending = await lifeOf(script);
      expect(ending.how).toMatch(how);
      expect(ending.restartIn).toBeGreaterThan(rest * 0.7);
      expect(ending.restartIn).toBeLessThan(rest * 1.3);
    }
    expect((await lifeOf(script, 'v2')).restartIn).toBeLessThan(700);
  });

  it('should let be back at once what is killed from outside, but not again and again', async () => {
    processes = open();
    expect((await lifeOf('sleep 99', 'v1', 'SIGKILL')).restartIn).toBe(0);
    expect((await lifeOf('sleep 99', 'v1', 'SIGKILL')).restartIn).toBeGreaterThan(300);
  });

  it('should stop what has left its group and its environment, while its parent lives', async () => {
    processes = open();
    const seconds = uniqueSleep();
    await processes.start('web', 0, service(`setsid env -i sleep ${seconds} & sleep 9999`), signal);
    await until('both run', () => sleepers(seconds).length === 1);
    const [web] = (await processes.list('web')) as [Process];
    await processes.stop(web, signal);
    expect(sleepers(seconds)).toEqual([]);
  });

  it('should not mind what others have put into its state', async () => {
    processes = open();
    await processes.start('web', 0, service('sleep 9999'), signal);
    writeFileSync(join(state, 'services', 'notes.txt'), 'mine');
    writeFileSync(join(state, 'services', 'web', 'odd.json'), '[]');
    mkdirSync(join(state, 'services', 'web', 'folder.json'));
    processes = open();
    expect(await processes.list('web')).toHaveLength(1);
  });
});
