import { fork } from 'node:child_process';
import type { Figures } from './case.js';

/** Takes one measurement in a child process of its own; `undefined` if the contender stalls or breaks down. */
export function run(caseName: string, contender: string, scale: number, flags: readonly string[] = []): Promise<Figures | undefined> {
  const child = fork(new URL('measure.js', import.meta.url), [caseName, contender, String(scale)], {
    execArgv: [...flags],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  return new Promise((resolve) => {
    child.on('message', resolve as (figures: unknown) => void);
    child.on('exit', () => resolve(undefined));
  });
}
