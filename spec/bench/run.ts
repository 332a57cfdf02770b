import { fork } from 'node:child_process';
import type { Case, Figures } from './case.js';

/** What there is of a contender that did not end within the limit. */
export const LATE: Figures = {};

/** Takes one measurement in a child process of its own; `undefined` if the contender stalls or breaks down. */
export function run(
  caseName: string,
  contender: string,
  scale: number,
  { flags = [], limit }: Pick<Case, 'flags' | 'limit'> = {},
): Promise<Figures | undefined> {
  const child = fork(new URL('measure.js', import.meta.url), [caseName, contender, String(scale)], {
    execArgv: [...flags],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    ...(limit !== undefined && { timeout: limit * 1000 }),
  });
  return new Promise((resolve) => {
    child.on('message', resolve as (figures: unknown) => void);
    child.on('exit', (_, signal) => resolve(limit !== undefined && signal === 'SIGTERM' ? LATE : undefined));
  });
}
