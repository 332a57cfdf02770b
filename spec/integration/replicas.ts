import { type LinesProcess, spawnLines } from '../support/lines-process.js';

/** What a replica says, a line of JSON each. */
export interface Line {
  readonly replica: string;
  readonly level?: string;
  readonly message?: string;
  readonly error?: string;
  readonly started?: string;
  readonly failed?: string;
  readonly listed?: number;
  readonly refused?: string;
  readonly metrics?: Readonly<Record<string, readonly Series[]>>;
}

/** One series of an instrument: of a histogram the value is its count. */
export interface Series {
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly value: number;
}

/** A replica in a process of its own, that can be killed, stopped or cut off. */
export interface Replica extends LinesProcess<Line> {
  readonly name: string;
}

export function replica(name: string, url: string, env: NodeJS.ProcessEnv = {}, file = 'replica.ts'): Replica {
  return Object.assign(
    spawnLines(new URL(file, import.meta.url), { DATABASE_URL: url, REPLICA: name, ...env }, (line) => JSON.parse(line) as Line),
    { name },
  );
}
