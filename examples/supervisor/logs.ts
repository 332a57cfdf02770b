import { closeSync, ftruncateSync, fstatSync, openSync, readdirSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';

/** A line that a process has printed. */
export interface Line {
  /** `web.0` */
  readonly name: string;
  readonly text: string;
}

/** From this size on, in bytes, a log is cut to nothing once it has been read. */
const LONGEST = 2 ** 20;
/** How much is read of a log at a time, and how long a line may be. */
const PORTION = 2 ** 16;

/** Reads what processes print, line by line, out of `<state>/services/<id>/<replica>.log`. */
export class Logs {
  readonly #root: string;
  readonly #logs = new Map<string, { offset: number; rest: Buffer }>();

  /** What is there already has been printed by an earlier supervisor. */
  constructor(state: string) {
    this.#root = join(state, 'services');
    for (const { path } of this.#files())
      this.#logs.set(path, { offset: withFile(path, (file) => fstatSync(file).size, 0), rest: Buffer.alloc(0) });
  }

  /** What has come since the last time. */
  read(): readonly Line[] {
    return this.#files().flatMap(({ name, path }) => this.#linesOf(path).map((line) => ({ name, text: plain(line) })));
  }

  #linesOf(path: string): readonly string[] {
    const log = this.#logs.get(path) ?? { offset: 0, rest: Buffer.alloc(0) };
    this.#logs.set(path, log);
    return withFile(
      path,
      (file) => {
        const { size } = fstatSync(file);
        // Shorter than it was: someone has cut it.
        if (size < log.offset) log.offset = 0;
        const portion = Buffer.alloc(Math.min(PORTION, size - log.offset));
        log.offset += readSync(file, portion, 0, portion.length, log.offset);
        if (size > LONGEST) {
          // The process appends, so it goes on at the new end. What it printed faster than we read is lost.
          ftruncateSync(file);
          log.offset = 0;
        }
        const text = Buffer.concat([log.rest, portion]);
        const end = text.length > PORTION ? text.length : text.lastIndexOf('\n') + 1;
        log.rest = text.subarray(end);
        return end === 0 ? [] : text.subarray(0, end).toString().replace(/\n$/, '').split('\n');
      },
      [],
    );
  }

  #files(): readonly { readonly name: string; readonly path: string }[] {
    return namesIn(this.#root).flatMap((id) =>
      namesIn(join(this.#root, id))
        .filter((file) => file.endsWith('.log'))
        .map((file) => ({ name: `${id}.${file.slice(0, -'.log'.length)}`, path: join(this.#root, id, file) })),
    );
  }
}

/** Somebody may clear the folder away at any time; that must not affect what runs. */
function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function withFile<T>(path: string, use: (file: number) => T, otherwise: T): T {
  let file: number;
  try {
    file = openSync(path, 'r+');
  } catch {
    return otherwise;
  }
  try {
    return use(file);
  } finally {
    closeSync(file);
  }
}

/** What moves the cursor would spoil the table. */
function plain(line: string): string {
  return stripVTControlCharacters(line).replace(/[\x00-\x08\x0a-\x1f\x7f]/g, '');
}
