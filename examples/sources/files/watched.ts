import { stat } from 'node:fs/promises';
import { relative } from 'node:path';
import { type ChokidarOptions, watch } from 'chokidar';
import { defer, exhaustMap, ignoreElements, interval, merge, Observable, tap } from 'rxjs';
import { reconnect } from '../support/reconnect.js';

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
    const known = new Set<string>();
    return merge(changes(folder, idOf, known, options), inPlace(folder, every)).pipe(reconnect(`The folder ${folder}`));
  });
}

function changes(folder: string, idOf: (path: string) => string, known: Set<string>, options?: ChokidarOptions): Observable<string> {
  return new Observable<string>((subscriber) => {
    const gone = new Set(known);
    const watcher = watch(folder, options);
    const emit = (path: string): void => subscriber.next(idOf(relative(folder, path)));
    watcher.on('all', (event, path) => {
      if (event === 'unlinkDir' && path === folder) subscriber.error(new Error('it was removed'));
      if (event === 'addDir' || event === 'unlinkDir') return;
      if (event === 'unlink') known.delete(path);
      else known.add(path);
      gone.delete(path);
      emit(path);
    });
    watcher.on('ready', () => {
      for (const path of gone) {
        known.delete(path);
        emit(path);
      }
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
