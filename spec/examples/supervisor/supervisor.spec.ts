import { once } from 'node:events';
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmdirSync,
  rmSync,
  statSync,
} from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { groupOf } from '../../../examples/supervisor/cgroups.js';
import { shortHash } from '../../../examples/supervisor/state.js';
import { bundled } from '../../support/bundled.js';
import { sleepers, uniqueSleep } from '../../support/sleepers.js';
import { Place } from '../../support/supervisor.js';
import { until } from '../../support/until.js';

const program = bundled('examples/supervisor/main.ts');
const aPlace = () => new Place([program]);

/** Waits until so many sleep so long, and gives their pids. */
const running = (seconds: string, count: number) =>
  until(`${count} processes sleep ${seconds} s`, () => {
    const pids = sleepers(seconds);
    return pids.length === count ? pids : undefined;
  });

const sleep = (seconds: string, replicas = 1) => ({ command: ['sleep', seconds], replicas });

/** One that does not hear SIGTERM; its sleep is a process of its own. */
const deaf = (seconds: string) => ({ command: ['sh', '-c', `trap '' TERM; sleep ${seconds}; sleep ${seconds}`] });

/** Whether this user may divide the control group that we are in. */
function hasCgroups(): boolean {
  const own = groupOf('self');
  if (own === undefined) return false;
  try {
    accessSync(join(own, 'cgroup.procs'), constants.W_OK);
    mkdirSync(join(own, 'kreconciler-probe'));
    rmdirSync(join(own, 'kreconciler-probe'));
    return true;
  } catch {
    return false;
  }
}

/** The lock is taken by then, and the folder is watched within the same tick or so. */
const begun = (place: Place) => until('the supervisor has begun', () => existsSync(join(place.state, 'services')));

describe.concurrent('the supervisor', { timeout: 90_000 }, () => {
  it('should run what the folder says, and on Ctrl-C leave nothing behind and exit 0', async () => {
    await using place = aPlace();
    const [a, b] = [uniqueSleep(), uniqueSleep()];
    place.write('web', sleep(a, 2));
    place.write('worker', sleep(b));
    const supervisor = place.supervise();
    await Promise.all([running(a, 2), running(b, 1)]);
    expect(await supervisor.kill('SIGINT')).toEqual({ code: 0, signal: null });
    expect([...sleepers(a), ...sleepers(b)]).toEqual([]);
  });

  it('should restart what an edit changes, and leave running what it does not', async () => {
    await using place = aPlace();
    const [a, b] = [uniqueSleep(), uniqueSleep()];
    place.write('web', sleep(a, 1));
    place.supervise();
    const [pid] = await running(a, 1);
    place.write('web', sleep(a, 3));
    expect(await running(a, 3)).toContain(pid);
    place.write('web', sleep(b, 3));
    await running(b, 3);
    expect(sleepers(a)).toEqual([]);
    place.write('web', sleep(b, 1));
    await running(b, 1);
  });

  it('should hear of an edit by the file itself, within a second, and of no other id', async () => {
    await using place = aPlace();
    const [before, after] = [uniqueSleep(), uniqueSleep()];
    place.write('ticker', sleep(before));
    const supervisor = place.supervise('--resync', '3600');
    await supervisor.step('ticker', 'succeeded');
    const seen = supervisor.steps.length;
    const edited = Date.now();
    place.write('ticker', sleep(after));
    const event = await supervisor.step('ticker', 'enqueued', seen);
    expect(event.trigger?.stream).toBe('files');
    expect(event.at - edited).toBeLessThan(1000);
    await running(after, 1);
    expect(new Set(supervisor.steps.map(({ id }) => id))).toEqual(new Set(['ticker']));
  });

  it('should go on with the next release when the link to the folder is flipped, and know it again when it is itself restarted', async () => {
    await using place = aPlace();
    const [same, gone, fresh] = [uniqueSleep(), uniqueSleep(), uniqueSleep()];
    place.write('same', sleep(same));
    place.write('gone', sleep(gone));
    const release = place.release();
    release.write('same', sleep(same));
    release.write('fresh', sleep(fresh));
    const first = place.supervise('--resync', '3600', '--dir', release.link);
    const [pid] = await running(same, 1);
    await running(gone, 1);
    await first.step('same', 'succeeded');
    release.flip();
    await Promise.all([running(fresh, 1), running(gone, 0)]);
    const again = await until('it runs in the other folder', () => sleepers(same).find((now) => now !== pid));
    expect(readlinkSync(`/proc/${again}/cwd`)).toBe(release.dir);
    await first.kill('SIGKILL');
    const second = place.supervise('--dir', release.link);
    await second.step('same', 'succeeded');
    expect(sleepers(same)).toEqual([again]);
  });

  it('should start a service whose file is new, and stop one whose file is deleted', async () => {
    await using place = aPlace();
    const a = uniqueSleep();
    const supervisor = place.supervise();
    await begun(place);
    place.write('web', sleep(a, 2));
    await running(a, 2);
    // The first list may have found it before the folder was watched; by now it is watched.
    place.write('web', sleep(a, 2));
    const seen = supervisor.steps.length;
    await until('the file itself has told it', () =>
      supervisor.steps.some(({ id, trigger }) => id === 'web' && trigger?.stream === 'files'),
    );
    place.delete('web');
    await running(a, 0);
    await supervisor.step('web', 'succeeded', seen);
  });

  it('should bring back at once a process that was killed', async () => {
    await using place = aPlace();
    const a = uniqueSleep();
    place.write('web', sleep(a, 2));
    const supervisor = place.supervise();
    const [killed, other] = await running(a, 2);
    await supervisor.step('web', 'succeeded');
    process.kill(killed!, 'SIGKILL');
    const pids = await until('it is back', () => (sleepers(a).length === 2 && !sleepers(a).includes(killed!) ? sleepers(a) : undefined));
    expect(pids).toContain(other);
    expect(supervisor.steps.filter(({ kind }) => kind === 'requeued')).toEqual([]);
  });

  it('should end what a killed process has left behind before it starts it anew', async () => {
    await using place = aPlace();
    const a = uniqueSleep();
    place.write('web', { command: ['sh', '-c', `echo $$; sleep ${a}; echo`], replicas: 1 });
    const supervisor = place.supervise();
    const [orphan] = await running(a, 1);
    await supervisor.step('web', 'succeeded');
    // The sleep goes on without the shell.
    process.kill(Number(readFileSync(join(place.state, 'services', 'web', '0.log'), 'utf8')), 'SIGKILL');
    await until('there is another one', () => sleepers(a).some((pid) => pid !== orphan));
    expect(sleepers(a)).toHaveLength(1);
  });

  it('should report a broken file as an error of that id alone, leave its processes running, and heal when it is mended', async () => {
    await using place = aPlace();
    const [a, b, other] = [uniqueSleep(), uniqueSleep(), uniqueSleep()];
    place.write('web', sleep(a));
    place.write('other', sleep(other));
    const supervisor = place.supervise();
    const [pid] = await running(a, 1);
    await supervisor.step('other', 'succeeded');
    place.write('web', '{ "command": ');
    expect((await supervisor.step('web', 'dropped')).error).toEqual({
      name: 'TerminalError',
      message: 'web.json: Expected the file to be JSON: Unexpected end of JSON input',
    });
    expect(sleepers(a)).toEqual([pid]);
    place.write('web', sleep(b));
    await running(b, 1);
    expect(sleepers(a)).toEqual([]);
    expect(supervisor.steps.filter(({ id, error }) => id === 'other' && error !== undefined)).toEqual([]);
  });

  it.each([
    ['crashes at once', ['sh', '-c', 'exit 3'], /^web\.0 exited with code 3 after \d\.\d s$/],
    ['ends at once', ['true'], /^web\.0 exited with code 0 after \d\.\d s$/],
    ['is no program', ['no-such-program'], /^web\.0 cannot be started: spawn no-such-program ENOENT$/],
  ])('should start a command that %s ever more rarely, and others meanwhile', async (_, command, message) => {
    await using place = aPlace();
    const b = uniqueSleep();
    place.write('web', { command });
    place.write('worker', sleep(b));
    const supervisor = place.supervise();
    const failed = await supervisor.step('web', 'requeued');
    expect(failed.error?.message).toMatch(message);
    expect(failed.delay).toBeLessThan(700);
    await until('it waits longer', () =>
      supervisor.steps.some(({ id, kind, delay = 0 }) => id === 'web' && kind === 'requeued' && delay > 1500),
    );
    await running(b, 1);
  });

  it('should not start at once what has crashed later', async () => {
    await using place = aPlace();
    // After a second it counts as started; on a busy machine the supervisor may look late.
    place.write('web', { command: ['sh', '-c', 'sleep 2.5; exit 4'] });
    const supervisor = place.supervise();
    const failed = await supervisor.step('web', 'requeued');
    expect(failed.error?.message).toMatch(/^web\.0 exited with code 4 after \d\.\d s$/);
    await supervisor.step('web', 'succeeded', supervisor.steps.indexOf(failed));
  });

  it('should kill what does not end by SIGTERM after the grace', async () => {
    await using place = aPlace();
    const [a, b] = [uniqueSleep(), uniqueSleep()];
    place.write('web', deaf(a));
    const supervisor = place.supervise('--grace', '0.3');
    await running(a, 1);
    place.write('web', sleep(b));
    await running(b, 1);
    expect(sleepers(a)).toEqual([]);
    expect(await supervisor.kill('SIGTERM')).toEqual({ code: 0, signal: null });
  });

  it('should kill all at once on a second Ctrl-C', async () => {
    await using place = aPlace();
    const a = uniqueSleep();
    place.write('web', deaf(a));
    const supervisor = place.supervise('--grace', '600');
    await supervisor.step('web', 'succeeded');
    supervisor.process.kill('SIGINT');
    const again = setInterval(() => supervisor.process.kill('SIGINT'), 700);
    expect(await supervisor.exited).toEqual({ code: 130, signal: null });
    clearInterval(again);
    await running(a, 0);
  });

  it.runIf(hasCgroups())(
    'should stop what has left its group, its environment and its parent, also what an earlier supervisor has started',
    async () => {
      await using place = aPlace();
      const [lost, seconds] = [uniqueSleep(), uniqueSleep()];
      place.write('web', { command: ['sh', '-c', `(setsid env -i sleep ${lost} &); exec sleep ${seconds}`] });
      const first = place.supervise();
      await Promise.all([running(lost, 1), running(seconds, 1)]);
      await first.step('web', 'succeeded');
      await first.kill('SIGKILL');
      const second = place.supervise();
      await second.step('web', 'succeeded');
      await second.kill('SIGTERM');
      expect([...sleepers(lost), ...sleepers(seconds)]).toEqual([]);
      expect(readdirSync(groupOf('self')!)).not.toContain(`kreconciler-${shortHash(place.state)}`);
    },
  );

  it('should go on with what runs after it was itself killed, and mend what has changed meanwhile', async () => {
    await using place = aPlace();
    const [kept, deleted, before, after] = [uniqueSleep(), uniqueSleep(), uniqueSleep(), uniqueSleep()];
    place.write('kept', sleep(kept, 2));
    place.write('deleted', sleep(deleted));
    place.write('edited', sleep(before));
    const first = place.supervise();
    const pids = await running(kept, 2);
    await Promise.all([running(deleted, 1), running(before, 1)]);
    await first.kill('SIGKILL');
    expect(sleepers(kept)).toEqual(pids);
    place.delete('deleted');
    place.write('edited', sleep(after));
    const second = place.supervise();
    await Promise.all([running(deleted, 0), running(before, 0), running(after, 1), second.step('kept', 'succeeded')]);
    expect(sleepers(kept)).toEqual(pids);
    // It hears of their end too, though they are no children of its own.
    process.kill(pids[0]!, 'SIGKILL');
    await until('it is back', () => sleepers(kept).length === 2 && !sleepers(kept).includes(pids[0]!));
    expect(await second.kill('SIGINT')).toEqual({ code: 0, signal: null });
    expect([...sleepers(kept), ...sleepers(after)]).toEqual([]);
  });

  it('should find what was started but not recorded', async () => {
    await using place = aPlace();
    const a = uniqueSleep();
    place.write('web', sleep(a, 2));
    const first = place.supervise();
    const pids = await running(a, 2);
    await first.kill('SIGKILL');
    rmSync(join(place.state, 'services'), { recursive: true });
    const second = place.supervise();
    await second.step('web', 'succeeded');
    expect(sleepers(a)).toEqual(pids);
  });

  it('should not mind that its state is cleared away while it runs', async () => {
    await using place = aPlace();
    const a = uniqueSleep();
    place.write('web', sleep(a, 1));
    const supervisor = place.supervise();
    const [pid] = await running(a, 1);
    await supervisor.step('web', 'succeeded');
    rmSync(place.state, { recursive: true });
    place.write('web', sleep(a, 2));
    expect(await running(a, 2)).toContain(pid);
    expect(await supervisor.kill('SIGTERM')).toEqual({ code: 0, signal: null });
    expect(sleepers(a)).toEqual([]);
  });

  it('should never have run a process twice, however often it is killed while it starts them', async () => {
    await using place = aPlace();
    const a = uniqueSleep();
    place.write('web', sleep(a, 20));
    for (let round = 0; round < 4; round++) {
      const seen = sleepers(a).length;
      const supervisor = place.supervise();
      await until('it has begun to start them', () => sleepers(a).length > Math.min(seen, 19));
      await supervisor.kill('SIGKILL');
      if (round < 2) for (const pid of sleepers(a).slice(0, 10)) process.kill(pid, 'SIGKILL');
    }
    const last = place.supervise();
    await last.step('web', 'succeeded');
    expect(sleepers(a)).toHaveLength(20);
  });

  it('should let its processes print on when it is killed', async () => {
    await using place = aPlace();
    place.write('web', { command: ['sh', '-c', 'while echo tick; do sleep 0.1; done'] });
    const supervisor = place.supervise();
    await supervisor.step('web', 'succeeded');
    await supervisor.kill('SIGKILL');
    const size = () => statSync(join(place.state, 'services', 'web', '0.log')).size;
    const before = size();
    await until('more is printed', () => size() > before + 10);
  });

  it('should refuse to look after a folder that another one looks after', async () => {
    await using place = aPlace();
    const first = place.supervise();
    await begun(place);
    const second = place.supervise();
    expect(await second.exited).toEqual({ code: 1, signal: null });
    expect(second.stderr).toBe(
      `Another supervisor (pid ${first.process.pid}) looks after ${place.dir} or keeps its state in ${place.state}\n`,
    );
    const elsewhere = place.supervise('--state', `${place.state}-2`);
    expect(await elsewhere.exited).toEqual({ code: 1, signal: null });
  });

  it('should refuse bad options with a clear error and exit code 2', async () => {
    await using place = aPlace();
    const supervisor = place.supervise('--workers', 'many');
    expect(await supervisor.exited).toEqual({ code: 2, signal: null });
    expect(supervisor.stderr).toBe('Expected `--workers` to be an integer >= 1, got `many`\n');
    expect(supervisor.stdout).toBe('');
  });

  it('should show what it does on a page, at another port where the wanted one is in use, and do what is asked there', async () => {
    await using place = aPlace();
    const a = uniqueSleep();
    place.write('web', sleep(a));
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const supervisor = place.supervise('--view', '--port', String(port));
    await supervisor.step('web', 'succeeded');
    const url = await until('it says where', () => /http:\S+/.exec(supervisor.stderr)?.[0]);
    expect(supervisor.stderr).toBe(`port ${port} is in use; see what happens, and why, at ${url}\n`);
    expect(await (await fetch(url)).text()).toContain('<title>kreconciler</title>');
    const { status } = await fetch(`${url}api/supervisor/pause`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-kreconciler': '1', origin: new URL(url).origin },
      body: JSON.stringify({ id: 'web', why: 'moving house' }),
    });
    expect(status).toBe(200);
    await supervisor.step('web', 'paused');
    expect(await supervisor.kill('SIGINT')).toEqual({ code: 0, signal: null });
    other.close();
  });

  it('should end in good order when nobody reads its output any more', async () => {
    await using place = aPlace();
    const a = uniqueSleep();
    place.write('web', sleep(a));
    const supervisor = place.supervise();
    await supervisor.step('web', 'succeeded');
    supervisor.process.stdout?.destroy();
    place.write('web', sleep(a, 2));
    expect(await supervisor.exited).toEqual({ code: 0, signal: null });
    expect(sleepers(a)).toEqual([]);
  });
});
