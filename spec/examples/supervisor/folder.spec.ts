import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
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

const write = (name: string, text = '{ "command": ["a"] }') => writeFileSync(join(folder.path, name), text);

describe('Folder', () => {
  it('should list the services by the names of their files, and no other files', async () => {
    for (const name of ['a.json', 'b c.d.json', '.json', '.a.json', 'a.json~', 'web.js', 'A.JSON']) write(name);
    expect([...(await folder.ids())].sort()).toEqual(['a', 'b c.d']);
  });

  it('should read what is wanted, and that nothing is where there is no file', async () => {
    write('a.json');
    expect(await folder.read('a')).toMatchObject({ command: ['a'] });
    expect(await folder.read('b')).toBeUndefined();
  });

  it('should say which file is broken, by an error that no retry can mend', async () => {
    write('a.json', '{');
    await expect(folder.read('a')).rejects.toMatchObject({
      name: 'TerminalError',
      message: expect.stringMatching(/^a\.json: Expected the file to be JSON: /) as string,
    });
  });

  it('should not take a folder that is gone for one that wants nothing', async () => {
    write('a.json');
    renameSync(folder.path, join(root, 'elsewhere'));
    await expect(folder.read('a')).rejects.toThrow('ENOENT');
    await expect(folder.ids()).rejects.toThrow('ENOENT');
  });

  it('should tell whose files are made, changed and removed', async () => {
    const changed: string[] = [];
    const watching = folder.changes.subscribe((id) => changed.push(id));
    for (const change of [() => write('a.json'), () => write('a.json', '{'), () => rmSync(join(folder.path, 'a.json'))]) {
      changed.length = 0;
      change();
      await until('it tells', () => changed.includes('a'));
    }
    watching.unsubscribe();
    write('a.json');
    expect(new Set(changed)).toEqual(new Set(['a']));
  });

  it('should watch on when the folder comes back', async () => {
    const changed: string[] = [];
    const watching = folder.changes.subscribe((id) => changed.push(id));
    rmSync(folder.path, { recursive: true });
    mkdirSync(folder.path);
    await until('it tells', () => {
      write('b.json', String(Math.random()));
      return changed.includes('b');
    });
    watching.unsubscribe();
  });
});
