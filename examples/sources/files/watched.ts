import { stat } from 'node:fs/promises';
import { relative } from 'node:path';
import { type ChokidarOptions, watch } from 'chokidar';
import { defer, exhaustMap, ignoreElements, interval, map, merge, Observable, tap } from 'rxjs';
import { reconnect } from '../support/reconnect.js';
import { Seen } from '../support/seen.js';

/** How long a removed path is remembered at least, in ms: as long as its id may wait for its run. */
const KEPT = 60_000;

/** Which folder is watched, and how. */
export interface WatchedConfig {
  readonly folder: string;
  /** The id that a file is about, by its path in the folder. Default that path. */
  readonly idOf?: (path: string) => string;
  /** Handed to chokidar: `ignored`, `awaitWriteFinish`, `usePolling` for network file systems. */
  readonly options?: ChokidarOptions;
  /** How often is looked whether the folder is still the one that is watched, in ms. Default 2_000. */
  readonly every?: number;
}

/**
 * Emits the ids of all files in a folder, and then those of files that are made, changed or removed. A watch that fails, or whose
 * folder was put aside, is followed by a new one, with backoff; what was removed meanwhile is emitted, too.
 *
 * Never completes, never errors. Unsubscribing closes the watch. What is remembered is the paths.
 */
export function watched({ folder, idOf = (path) => path, options, every = 2_000 }: WatchedConfig): Observable<string> {
  return defer(() => {
    const seen = new Seen();
    const ids = changes(folder, seen, options).pipe(map((path) => idOf(relative(folder, path))));
    const watching = merge(ids, inPlace(folder, every)).pipe(reconnect(`The folder ${folder}`));
    const forgetting = interval(KEPT).pipe(
      tap(() => seen.confirm()),
      ignoreElements(),
    );
    return merge(watching, forgetting);
  });
}

function changes(folder: string, seen: Seen, options?: ChokidarOptions): Observable<string> {
  return new Observable<string>((subscriber) => {
    const found = new Set<string>();
    const watcher = watch(folder, options);
    watcher.on('all', (event, path) => {
      if (event === 'unlinkDir' && path === folder) subscriber.error(new Error('it was removed'));
      if (event === 'addDir' || event === 'unlinkDir') return;
      if (event === 'unlink') seen.remove(path);
      else seen.add(path);
      found.add(path);
      subscriber.next(path);
    });
    watcher.on('ready', () => {
      for (const path of seen.missing(found)) subscriber.next(path);
    });
    watcher.on('error', (error) => subscriber.error(error));
    return () => void watcher.close();
  });
}

/** Errors when the folder is another one than at first: a watch stays with what was moved away, and says nothing of what came. */
function inPlace(folder: string, every: number): Observable<never> {
  // A number alone is soon given to another.
  const identity = defer(async () => {
    const { ino, birthtimeMs } = await stat(folder);
    return `${String(ino)} ${String(birthtimeMs)}`;
  });
  return identity.pipe(
    exhaustMap((first) =>
      interval(every).pipe(
        exhaustMap(() => identity),
        tap((now) => {
          if (now !== first) throw new Error('it was replaced');
        }),
      ),
    ),
    ignoreElements(),
  );
}
