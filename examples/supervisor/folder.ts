import { TerminalError } from 'kreconciler';
import { realpathSync, statSync, watch } from 'node:fs';
import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import {
  delay,
  distinctUntilChanged,
  EMPTY,
  filter,
  interval,
  map,
  Observable,
  retry,
  shareReplay,
  skip,
  startWith,
  switchMap,
  timer,
} from 'rxjs';
import type { Services } from './ports.js';
import { parseService, type Service } from './service.js';

/** What an editor needs to write a file to its end, in ms. */
const WRITING = 50;
/** How often, in ms, it is looked whether the path leads to another folder than before. */
const LOOK = 500;

/**
 * A folder of service files, `<id>.json`. Files whose names begin with a dot are none: editors make such. The path may lead
 * through links: when one is flipped to the next release, that is what counts from then on.
 */
export class Folder implements Services {
  /** Where the path leads, as often as that changes; `undefined` while it leads to no folder. */
  readonly #places: Observable<string | undefined>;

  constructor(readonly path: string) {
    this.#places = interval(LOOK).pipe(
      startWith(0),
      map(() => placeOf(path)),
      distinctUntilChanged(),
      shareReplay({ bufferSize: 1, refCount: true }),
    );
  }

  /** The ids of all services there are. */
  async ids(): Promise<readonly string[]> {
    return (await readdir(this.path)).flatMap((name) => idOf(name) ?? []);
  }

  /**
   * Reads what is wanted of `id`. A file that cannot be understood is a terminal error: trying again will not mend it,
   * but whoever edits it makes an event.
   */
  async read(id: string): Promise<Service | undefined> {
    // Once, so that the file and the folder that its command runs in are of one release.
    const folder = await realpath(this.path);
    let text: string;
    try {
      text = await readFile(join(folder, `${id}.json`), 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      // No file: it shall not run. No folder: nobody knows what shall, and this throws.
      await stat(folder);
      return undefined;
    }
    try {
      return parseService(text, folder);
    } catch (error) {
      throw new TerminalError(`${id}.json: ${(error as Error).message}`, { cause: error });
    }
  }

  /**
   * The ids whose files change. It may name one too often, and while the folder is gone none: the loop does not mind the
   * first, and the resync makes up for the second.
   */
  get changes(): Observable<string> {
    return this.#places.pipe(
      switchMap((place) => (place === undefined ? EMPTY : names(this.path).pipe(retry({ delay: () => timer(LOOK) })))),
      map(idOf),
      filter((id) => id !== undefined),
      delay(WRITING),
    );
  }

  /** Emits whenever the path leads to another folder than before, so that any service may have changed. */
  get moves(): Observable<unknown> {
    return this.#places.pipe(
      filter((place) => place !== undefined),
      skip(1),
    );
  }
}

/** Names the folder to which a path leads: another one may take its place, and with it even its inode. */
function placeOf(path: string): string | undefined {
  try {
    const real = realpathSync(path);
    const { ino, birthtimeNs } = statSync(real, { bigint: true });
    return [real, ino, birthtimeNs].join(' ');
  } catch {
    return undefined;
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
