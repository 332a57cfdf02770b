import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Controller, noopLogger, observability } from 'kreconciler';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { watched } from './watched.js';

describe('the files of a folder', () => {
  let [root, folder] = ['', ''];
  let stop: () => Promise<void> = () => Promise.resolve();
  const [desired, actual] = [new Map<string, string>(), new Map<string, string>()];

  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'kreconciler-files-'));
    folder = join(root, 'folder');
    await mkdir(folder);
  });
  afterEach(async () => {
    await stop();
    await rm(root, { recursive: true });
    desired.clear();
    actual.clear();
  });

  function start(): void {
    const reconciler = async (id: string) => {
      const content = await readFile(join(folder, id), 'utf8').catch(() => undefined);
      if (content === undefined) actual.delete(id);
      else actual.set(id, content);
    };
    const controller = new Controller({ leaderElectionEnabled: false, observability: observability({ logger: noopLogger }) }, reconciler, {
      files: watched({ folder, every: 100 }),
    });
    const stopping = new AbortController();
    const ended = controller.run(stopping.signal);
    stop = async () => {
      stopping.abort();
      await ended;
    };
  }
  async function write(name: string, content: string): Promise<void> {
    desired.set(name, content);
    await writeFile(join(folder, name), content);
  }
  async function remove(name: string): Promise<void> {
    desired.delete(name);
    await rm(join(folder, name), { force: true });
  }
  const isRight = () => expect(Object.fromEntries(actual)).toEqual(Object.fromEntries(desired));
  const eventually = (assertion: () => unknown) => vi.waitFor(assertion, { timeout: 90_000, interval: 50 });

  it('should hear of files that are there, are made, changed and removed', async () => {
    await write('before', '1');
    start();
    await eventually(isRight);
    await write('before', '2');
    await write('after', '1');
    await eventually(isRight);
    await remove('before');
    await eventually(isRight);
  });

  it('should see that the folder is another one, and what is missing in that', async () => {
    for (const name of ['one', 'two']) await write(name, '1');
    start();
    await eventually(isRight);
    await rename(folder, join(root, 'aside'));
    await sleep(300);
    await mkdir(folder);
    await remove('one');
    await write('two', '2');
    await write('three', '1');
    await eventually(isRight);
  });

  it('should lose no id to many changes, and a folder that is removed and replaced', async () => {
    start();
    for (let count = 1; count <= 1_100; count++) {
      const name = `file-${Math.floor(200 * Math.random())}`;
      if (Math.random() < 0.2) await remove(name);
      else await write(name, String(count));
      if (count % 350 === 150) {
        await rename(folder, join(root, `aside-${count}`));
        await mkdir(folder);
        desired.clear();
      }
      if (count % 350 === 300) {
        await rm(folder, { recursive: true });
        desired.clear();
        await sleep(500);
        await mkdir(folder);
      }
      if (count % 20 === 0) await sleep(20);
    }
    await eventually(isRight);
    expect(actual.size).toBeGreaterThan(10);
  });
});
