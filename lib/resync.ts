import { asyncScheduler, exhaustMap, mergeMap, type Observable, repeat, retry, type SchedulerLike, startWith, toArray } from 'rxjs';
import { after } from '../operators/after.js';
import { type Backoff, delayBy, exponential } from '../operators/backoff.js';
import { callable, checkScheduler } from '../operators/config.js';
import { isDelay } from '../operators/errors.js';
import { expected, expectedObject } from '../operators/expected.js';
import { type IdList, listIds } from './list-ids.js';
import type { LogFields } from './observability/logging/logger.js';
import { safely } from './observability/safely.js';
import { measuredList } from './observability/metrics/measured-list.js';
import { checkObservability, defaultObservability, type Observability } from './observability/observability.js';

/** What a {@link resync} lists, and how often. */
export interface ResyncConfig {
  /** That of the Controller it is for: the attribute `controller` of its metrics. Default: none. */
  readonly name?: string | undefined;
  /** How long from the start of one list to the start of the next, in ms. */
  readonly every: number;
  /** Lists all ids there are, or should be. `signal` aborts when the list is over time or nobody wants it any more. */
  readonly list: (signal: AbortSignal) => IdList;
  /** How long a list may take, in ms; Infinity means no limit. Default 30_000: one that hangs must not be the last one. */
  readonly timeout?: number | undefined;
  /** The delay before a list that failed is tried again. Default {@link exponential} from 250 to `every`. */
  readonly backoff?: Backoff | undefined;
  /** Where failures are logged and counted. Default {@link defaultObservability}. */
  readonly observability?: Observability | undefined;
  /** The only source of time. Default `asyncScheduler`. */
  readonly scheduler?: SchedulerLike | undefined;
}

/** The fractional part of the golden ratio: its multiples modulo 1 leave the smallest gaps, however many they are. */
const GOLDEN = (Math.sqrt(5) - 1) / 2;

/**
 * Lists all ids at once, and again every `every` ms: what makes a loop level-triggered, for it mends each event that was
 * lost. (Go: `ResyncLoopEventStream`.)
 *
 * One list at a time; rounds that would have begun while a slow one is under way are left out. A list that fails or is over
 * time is logged and tried again with backoff; one that ignores its signal is waited for, over all subscriptions, and that is
 * logged, too. Each round starts elsewhere in the list, so that with more ids than the queue
 * holds every id still gets in within a bounded number of rounds.
 *
 * Never completes, never errors; unsubscribing stops a list under way.
 *
 * @throws TypeError if a field is out of its range
 * @example
 * resync({ every: 60_000, list: (signal) => fetchIds(signal) });
 */
export function resync(config: ResyncConfig): Observable<string> {
  expectedObject('config', config);
  const { name, every, list, timeout = 30_000, observability = defaultObservability(), scheduler = asyncScheduler } = config;
  expected('name', name, 'a string', name === undefined || typeof name === 'string');
  expected('every', every, 'a finite number of ms > 0', isDelay(every) && every > 0);
  callable('list', list);
  expected('timeout', timeout, 'a number of ms > 0', timeout === Infinity || (isDelay(timeout) && timeout > 0));
  const soonest = Math.min(250, every);
  const { backoff = exponential({ initial: soonest, max: every }) } = config;
  callable('backoff', backoff);
  checkScheduler('scheduler', scheduler);
  checkObservability('observability', observability);
  const { logger } = observability;
  const warn = safely((fields: LogFields) => {
    logger.warn('Listing all ids failed, trying again', fields);
  });

  const round = listIds({ list, timeout, scheduler, logger }).pipe(
    toArray(),
    measuredList(observability, scheduler, name),
    retry({
      delay: (error, failures) => {
        const delay = delayBy(backoff, failures, error, soonest);
        warn({ error, failures, delay });
        return after(delay, scheduler);
      },
    }),
  );
  // Not in `defer`: terms that are shorter than `every` must not all begin at the same ids (Y3).
  let rounds = 0;
  return after(every, scheduler).pipe(
    repeat(),
    startWith(0),
    exhaustMap(() => round.pipe(mergeMap((ids) => rotated(ids, rounds++)))),
  );
}

/** Round 0 starts at the first id. */
function rotated(ids: readonly string[], rounds: number): readonly string[] {
  const first = Math.floor(((rounds * GOLDEN) % 1) * ids.length);
  return [...ids.slice(first), ...ids.slice(0, first)];
}
