import { check, checkFunction, checkObject, checkShare, isDelay } from './check.js';

/** How long to wait, in ms, after the `failures`-th failure in a row (1 = the first), which was `error`. */
export type Backoff = (failures: number, error: unknown) => number;

/** How fast the delays of {@link exponential} grow, and how far. */
export interface ExponentialConfig {
  /** The delay after the first failure, in ms. */
  readonly initial: number;
  /** What each further failure multiplies it by. Default 2, as everywhere in this field. */
  readonly factor?: number | undefined;
  /** No delay is longer, jitter included, in ms. Default 60_000: an id that healed is seen within a minute. */
  readonly max?: number | undefined;
  /** Each delay is spread by up to this share of it, either way. Default 0.2: ids that failed together retry apart. */
  readonly jitter?: number | undefined;
  /** From 0 up to 1. Default `Math.random`; give a seeded one to make tests repeatable. */
  readonly random?: (() => number) | undefined;
}

/**
 * Waits longer after every failure in a row: `initial * factor ** (failures - 1)`, spread by `jitter`, at most `max`.
 *
 * @throws TypeError if a field is out of its range
 * @example
 * exponential({ initial: 250, max: 30_000 }); // about 250, 500, 1000, ... 30_000 ms
 */
export function exponential(config: ExponentialConfig): Backoff {
  checkObject('config', config);
  const { initial, factor = 2, max = 60_000, jitter = 0.2, random = Math.random } = config;
  check('initial', initial, 'a finite number >= 0', isDelay(initial));
  check('factor', factor, 'a finite number >= 1', isDelay(factor) && factor >= 1);
  check('max', max, 'a number >= 0', isDelay(max) || max === Infinity);
  checkShare('jitter', jitter);
  checkFunction('random', random);
  const ceiling = Math.min(max, Number.MAX_SAFE_INTEGER);
  const backoff = (failures: number): number => {
    // Each factor is capped by itself: the power reaches Infinity, and 0 times that would be NaN.
    const delay = Math.min(initial * Math.min(factor ** (failures - 1), ceiling), ceiling);
    return Math.min(delay * (1 + jitter * (2 * random() - 1)), ceiling);
  };
  return Object.assign(backoff, { longest: ceiling });
}

/**
 * Waits `ms` after every failure.
 *
 * @throws TypeError if `ms` is not a finite number >= 0
 * @example
 * reconcile(reconciler, { backoff: constant(1000) });
 */
export function constant(ms: number): Backoff {
  check('ms', ms, 'a finite number >= 0', isDelay(ms));
  return Object.assign(() => ms, { longest: ms });
}

/** What `backoff` answers; `otherwise` if it throws or answers no delay, for it is user code, and a failure is retried all the same (T3). */
export function delayBy(backoff: Backoff, failures: number, error: unknown, otherwise: number): number {
  try {
    const delay = backoff(failures, error);
    return isDelay(delay) ? delay : otherwise;
  } catch {
    return otherwise;
  }
}

/** No delay of `backoff` is longer, in ms; undefined where nobody can say, which is for one that the user made. */
export function longestDelay(backoff: Backoff): number | undefined {
  return (backoff as { readonly longest?: number }).longest;
}
