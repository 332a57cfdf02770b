/** How many frames a stack may have: between a timer and the code that asked for it there may be many of RxJS. */
const DEPTH = 100;

/** The directory of this file, or of the bundle that it is part of. */
const HERE = /\(?([^()\s]*[\\/])[^\\/]*:\d+:\d+\)?$/u.exec(frames(new Error().stack)[0] ?? '')?.[1];

/** Where a call came from. */
export interface Origin {
  readonly stack?: string;
}

/** Remembers who called `callee`. To find the line of code is left to {@link callerOf}, as often nobody asks. */
export function originOf(callee: (...args: never[]) => unknown): Origin {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = DEPTH;
  const origin: Origin = {};
  Error.captureStackTrace(origin, callee);
  Error.stackTraceLimit = stackTraceLimit;
  return origin;
}

/** `at readConfig (/app/config.ts:12:3)`: the first frame that is the user's; else one of a library; else one of Node's. */
export function callerOf({ stack }: Origin): string {
  const all = frames(stack);
  const known = all.filter((frame) => !/node:|\(<anonymous>\)$|^at <anonymous>$/u.test(frame));
  const isLibrary = (frame: string): boolean => /[\\/]node_modules[\\/]/u.test(frame) || (HERE !== undefined && frame.includes(HERE));
  return known.find((frame) => !isLibrary(frame)) ?? known[0] ?? all.at(-1) ?? '';
}

function frames(stack = ''): string[] {
  return stack
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line.startsWith('at '));
}
