import { TerminalError } from 'kreconciler';
import { watch } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { delay, mergeMap, Observable, retry, timer } from 'rxjs';
import type { Services } from './ports.js';
import { parseService, type Service } from './service.js';

/** What an editor needs to write a file to its end, in ms. */
const WRITING = 50;

/** A folder of service files, `<id>.json`. Files whose names begin with a dot are none: editors make such. */
export class Folder implements Services {
  constructor(readonly path: string) {}

  /** The ids of all services there are. */
  async ids(): Promise<readonly string[]> {
    return (await readdir(this.path)).flatMap((name) => idOf(name) ?? []);
  }

  /**
   * Reads what is wanted of `id`. A file that cannot be understood is a terminal error: trying again will not mend it,
   * but whoever edits it makes an event.
   */
  async read(id: string): Promise<Service | undefined> {
    let text: string;
    try {
      text = await readFile(join(this.path, `${id}.json`), 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      // No file: it shall not run. No folder: nobody knows what shall, and this throws.
      await stat(this.path);
      return undefined;
    }
    try {
      return parseService(text);
    } catch (error) {
      throw new TerminalError(`${id}.json: ${(error as Error).message}`, { cause: error });
    }
  }

  /**
   * The ids whose files change. It may tell of one too often, and while the folder is gone of none: the loop does not mind the
   * first, and the resync makes up for the second.
   */
  get changes(): Observable<string> {
    return names(this.path).pipe(
      retry({ delay: () => timer(1000) }),
      mergeMap((name) => idOf(name) ?? []),
      delay(WRITING),
    );
  }
}

/** `fs.watch` as an Observable. It errors when the folder goes away, for then a watch hears nothing any more. */
function names(path: string): Observable<string> {
  return new Observable((subscriber) => {
    const watcher = watch(path, (event, name) => {
      if (event === 'rename' && name === basename(path)) subscriber.error(new Error(`${path} was moved or removed`));
      else if (name !== null) subscriber.next(name);
    });
    watcher.on('error', (error) => {
      subscriber.error(error);
    });
    return () => {
      watcher.close();
    };
  });
}

function idOf(name: string): string | undefined {
  return /^([^.].*)\.json$/s.exec(name)?.[1];
}
