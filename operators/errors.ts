import { isDelay } from './check.js';

const TERMINAL = Symbol.for('kreconciler.terminal');

/** How many links of a `cause` chain are looked at; it may be circular. */
const DEPTH = 16;

/**
 * A failure that knows when to try again.
 *
 * It is recognised by its `retryDelay`, anywhere in the `cause` chain, so any error of your own with such a field
 * does the same (a `Retry-After` header, a rate limiter).
 *
 * @param retryDelay - ms until the retry; finite and >= 0 (0 means the next tick), anything else is ignored and the
 *   backoff decides
 * @example
 * throw new RetryError('rate limited', 30_000, { cause: error });
 */
export class RetryError extends Error {
  override readonly name = 'RetryError';

  constructor(
    message: string,
    readonly retryDelay: number,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/**
 * A failure that no retry can mend: the id is dropped at once, until its next event.
 *
 * It is recognised by its property `Symbol.for('kreconciler.terminal')`, anywhere in the `cause` chain, so that it works
 * across copies of this package and can be put on any error.
 *
 * @example
 * throw new TerminalError(`no such account: ${id}`);
 */
export class TerminalError extends Error {
  override readonly name = 'TerminalError';
  readonly [TERMINAL] = true;
}

/** The first valid `retryDelay` in the `cause` chain of `error`, in ms. */
export function retryDelayOf(error: unknown): number | undefined {
  return lookUp(error, (link) => {
    const { retryDelay } = link as { retryDelay?: unknown };
    return isDelay(retryDelay) ? retryDelay : undefined;
  });
}

/** Whether `error`, or one in its `cause` chain, says that no retry can mend it. */
export function isTerminal(error: unknown): boolean {
  return lookUp(error, (link) => (link as { [TERMINAL]?: unknown })[TERMINAL] === true || undefined) ?? false;
}

/** Whether `error`, or one in its `cause` chain, is `reason`. */
export function isCausedBy(error: unknown, reason: unknown): boolean {
  return lookUp(error, (link) => link === reason || undefined) ?? false;
}

/** User code throws anything: primitives, proxies, circular causes, getters that throw. None of it may end the loop. */
function lookUp<T>(error: unknown, read: (link: object) => T | undefined): T | undefined {
  try {
    for (let link = error, i = 0; i < DEPTH && typeof link === 'object' && link !== null; i++) {
      const found = read(link);
      if (found !== undefined) return found;
      link = (link as { cause?: unknown }).cause;
    }
  } catch {
    // An error that cannot be read says nothing.
  }
  return undefined;
}
