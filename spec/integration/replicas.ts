import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

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
  /** The shards that it owns, each with its term. */
  readonly owns?: readonly (readonly [shard: number, term: number])[];
  readonly metrics?: Readonly<Record<string, readonly Series[]>>;
}

/** One series of an instrument: of a histogram the value is its count. */
export interface Series {
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly value: number;
}

/** A replica in a process of its own, that can be killed, stopped or cut off. */
export interface Replica {
  readonly name: string;
  readonly lines: Line[];
  readonly child: ChildProcess;
  readonly isAlive: boolean;
  readonly kill: (signal: NodeJS.Signals) => void;
  /** Its exit code, or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals | null>;
}

export function replica(name: string, url: string, env: NodeJS.ProcessEnv = {}, file = 'replica.ts'): Replica {
  const program = fileURLToPath(new URL(file, import.meta.url));
  const child = spawn(process.execPath, ['--import', 'tsx', program], {
    env: { ...process.env, DATABASE_URL: url, REPLICA: name, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines: Line[] = [];
  const reader = createInterface({ input: child.stdout });
  reader.on('line', (line) => lines.push(JSON.parse(line) as Line));
  const ended = new Promise<number | NodeJS.Signals | null>((resolve) => {
    // Not `exit`: what it said last may still be on its way then.
    child.once('close', (code, signal) => resolve(code ?? signal));
  });
  return {
    name,
    lines,
    child,
    ended,
    get isAlive() {
      return child.exitCode === null && child.signalCode === null;
    },
    kill: (signal) => void child.kill(signal),
  };
}
