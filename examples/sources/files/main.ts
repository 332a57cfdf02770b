import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Controller, noopLogger, observability, resync } from 'kreconciler';
import { started } from '../support/started.js';
import { watched } from './watched.js';

const begin = started(`
The files of a folder.

  npm run example:files                     a folder of its own
  FOLDER=/some/where npm run example:files  another, which is read only`);

const own = process.env['FOLDER'] === undefined ? await mkdtemp(join(tmpdir(), 'kreconciler-files-')) : undefined;
const folder = own ?? process.env['FOLDER'] ?? '';
console.log(`Files: ${folder}`);
const signal = begin();

const controller = new Controller(
  { leaderElectionEnabled: false, observability: observability({ logger: noopLogger }) },
  async (id) => {
    const content = await readFile(join(folder, id)).catch(() => undefined);
    console.log(content === undefined ? `${id} is gone` : `${id} has ${content.length} bytes`);
  },
  {
    files: watched({ folder }),
    // What no watch reports: a queue of the system that was full, a network file system.
    all: resync({ every: 60_000, list: () => readdir(folder) }),
  },
);

async function write(): Promise<void> {
  for (let count = 1; own !== undefined && !signal.aborted; count++) {
    const file = join(own, ['web', 'api', 'worker'][count % 3] as string);
    if (count % 5 === 0) await rm(file, { force: true });
    else await writeFile(file, 'x'.repeat(count));
    await sleep(200);
  }
}

await Promise.all([controller.run(signal), write()]);
if (own !== undefined) await rm(own, { recursive: true });
