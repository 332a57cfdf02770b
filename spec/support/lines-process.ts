import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** A program of ours in a process of its own, and the lines that it has printed. */
export interface LinesProcess<T = string> {
  readonly child: ChildProcess;
  readonly lines: T[];
  readonly isAlive: boolean;
  readonly kill: (signal: NodeJS.Signals) => void;
  /** Its exit code, or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals | null>;
}

/** Starts a program, and reads each line by `read`. */
export function spawnLines<T>(program: URL, env: NodeJS.ProcessEnv, read: (line: string) => T): LinesProcess<T> {
  const child = spawn(process.execPath, ['--import', 'tsx', fileURLToPath(program)], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines: T[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(read(line)));
  const ended = new Promise<number | NodeJS.Signals | null>((resolve) => {
    // Not `exit`: what it said last may still be on its way then.
    child.once('close', (code, signal) => resolve(code ?? signal));
  });
  return {
    child,
    lines,
    ended,
    get isAlive() {
      return child.exitCode === null && child.signalCode === null;
    },
    kill: (signal) => void child.kill(signal),
  };
}
