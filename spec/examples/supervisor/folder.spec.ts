import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Folder } from '../../../examples/supervisor/folder.js';
import { until } from '../../support/until.js';

let root: string;
let folder: Folder;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'folder-'));
  mkdirSync(join(root, 'services'));
  folder = new Folder(join(root, 'services'));
});
afterEach(() => {
  rmSync(root, { recursive: true, force: true });
});

const write = (name: string, text = '{ "command": ["true"] }') => writeFileSync(join(folder.path, name), text);

describe('Folder', () => {
  it('should list the services by the names of their files, and no other files', async () => {
    for (const name of ['web.json', 'b c.d.json', '.json', '.web.json', 'web.json~', 'web.js', 'WEB.JSON']) write(name);
    expect([...(await folder.ids())].sort()).toEqual(['b c.d', 'web']);
  });

  it('should read what is wanted, and that nothing is where there is no file', async () => {
    write('web.json');
    expect(await folder.read('web')).toMatchObject({ command: ['true'] });
    expect(await folder.read('worker')).toBeUndefined();
  });

  it('should say which file is broken, by an error that no retry can mend', async () => {
    write('web.json', '{');
    await expect(folder.read('web')).rejects.toMatchObject({
      name: 'TerminalError',
      message: expect.stringMatching(/^web\.json: Expected the file to be JSON: /) as string,
    });
  });

  it('should not take a folder that is gone for one that wants nothing', async () => {
    write('web.json');
    renameSync(folder.path, join(root, 'elsewhere'));
    await expect(folder.read('web')).rejects.toThrow('ENOENT');
    await expect(folder.ids()).rejects.toThrow('ENOENT');
  });

  it('should tell within a second whose files are made, changed and removed, by the whole id and nothing else', async () => {
    const changed: string[] = [];
    const watching = folder.changes.subscribe((id) => changed.push(id));
    for (const change of [() => write('ticker.json'), () => write('ticker.json', '{'), () => rmSync(join(folder.path, 'ticker.json'))]) {
      changed.length = 0;
      change();
      await until('it tells', () => changed.length > 0, 1000);
      expect(new Set(changed)).toEqual(new Set(['ticker']));
    }
    watching.unsubscribe();
    write('ticker.json');
    expect(new Set(changed)).toEqual(new Set(['ticker']));
  });

  it('should watch on when the folder comes back, and say that any service may have changed', async () => {
    const changed: string[] = [];
    let moves = 0;
    const watching = folder.changes.subscribe((id) => changed.push(id));
    watching.add(folder.moves.subscribe(() => moves++));
    rmSync(folder.path, { recursive: true });
    mkdirSync(folder.path);
    await until('it tells', () => {
      write('worker.json', String(Math.random()));
      return changed.includes('worker');
    });
    expect(moves).toBe(1);
    watching.unsubscribe();
  });

  it.each([
    ['itself', 'current'],
    ['one above it', 'current/services'],
  ])('should follow a link that is flipped: %s', async (_, path) => {
    for (const release of ['one', 'two']) mkdirSync(join(root, release, 'services'), { recursive: true });
    const target = (release: string) => (path === 'current' ? `${release}/services` : release);
    symlinkSync(target('one'), join(root, 'current'));
    folder = new Folder(join(root, path));
    write('web.json');
    const before = await folder.read('web');
    const changed: string[] = [];
    let moves = 0;
    const watching = folder.changes.subscribe((id) => changed.push(id));
    watching.add(folder.moves.subscribe(() => moves++));
    writeFileSync(join(root, 'two/services/web.json'), '{ "command": ["true"] }');
    symlinkSync(target('two'), join(root, 'next'));
    renameSync(join(root, 'next'), join(root, 'current'));
    await until('it says so', () => moves === 1, 2000);
    const after = await folder.read('web');
    expect(after?.folder).toMatch(/two\/services$/);
    expect(after?.version).not.toBe(before?.version);
    changed.length = 0;
    writeFileSync(join(root, 'two/services/worker.json'), '{}');
    await until('it watches the other folder', () => changed.includes('worker'), 1000);
    watching.unsubscribe();
  });
});
