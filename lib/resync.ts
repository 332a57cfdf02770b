import {
  asyncScheduler,
  catchError,
  concat,
  defer,
  delayWhen,
  EMPTY,
  exhaustMap,
  filter,
  finalize,
  map,
  merge,
  mergeMap,
  NEVER,
  type Observable,
  type ObservableInput,
  of,
  repeat,
  retry,
  type SchedulerLike,
  startWith,
  tap,
  toArray,
} from 'rxjs';
import { after } from '../operators/after.js';
import { type Backoff, delayBy, exponential } from '../operators/backoff.js';
import {
  check,
  checkFunction,
  checkInterval,
  checkName,
  checkObject,
  checkObservableInput,
  checkScheduler,
  checkShare,
  checkTimeout,
  isDelay,
} from '../operators/check.js';
import { fromInput } from './from-input.js';
import { type IdList, listIds } from './list-ids.js';
import { NextList } from './next-list.js';
import type { LogFields } from './observability/logging/logger.js';
import { safely } from './observability/safely.js';
import { acquisitionOf, isAcquired } from './shards/ownership.js';
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
  /**
   * By up to which share of it each period is made longer or shorter, from 0 to 1, so that replicas and loops that started
   * together soon list apart. Default 0: the first list is at once in any case, and one loop alone has nothing to spread.
   */
  readonly jitter?: number | undefined;
  /** From 0 up to 1, for the jitter. Default `Math.random`; give a seeded one to make tests repeatable. */
  readonly random?: (() => number) | undefined;
  /**
   * Over how many ms the ids of a list are spread evenly once it has come; from 0 to `every`. Default 0, all at once: an id
   * that has drifted should not wait. With 100,000 ids and a queue of 2,000 a spread lets all of them in.
   */
  readonly spread?: number | undefined;
  /**
   * When it emits, all ids are listed as well, at once or after the list under way. Where that is the `acquired` of a stream
   * function, a list begins once all shards have come that come at that moment, the first one too, and for those that come later only
   * their ids are passed on. Default: never.
   */
  readonly relistOn?: ObservableInput<unknown> | undefined;
  /** How long a list may take, in ms; Infinity means no limit. Default 30_000: one that hangs must not be the last one. */
  readonly timeout?: number | undefined;
  /** The delay before a list that failed is tried again. Default {@link exponential} from 250 to `every`. */
  readonly backoff?: Backoff | undefined;
  /** Where failures are logged and counted. Default {@link defaultObservability}. */
  readonly observability?: Observability | undefined;
  /** The only source of time. Default `asyncScheduler`. */
  readonly scheduler?: SchedulerLike | undefined;
}

/** Emits when all that happens at this moment has happened. */
const breath = defer(() => Promise.resolve(0));

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
  checkObject('config', config);
  const { name, every, list, jitter = 0, random = Math.random, spread = 0, relistOn = NEVER, timeout = 30_000 } = config;
  const { observability = defaultObservability(), scheduler = asyncScheduler } = config;
  checkName('name', name);
  checkInterval('every', every);
  checkFunction('list', list);
  checkTimeout('timeout', timeout);
  checkShare('jitter', jitter);
  checkFunction('random', random);
  check('spread', spread, 'a number of ms from 0 to `every`', isDelay(spread) && spread <= every);
  checkObservableInput('relistOn', relistOn);
  const soonest = Math.min(250, every);
  const { backoff = exponential({ initial: soonest, max: every }) } = config;
  checkFunction('backoff', backoff);
  checkScheduler('scheduler', scheduler);
  checkObservability('observability', observability);
  const { logger } = observability;
  const warn = safely((fields: LogFields) => {
    logger.warn('Listing all ids failed, trying again', fields);
  });
  const warnOfNotifier = safely((error: unknown) => {
    logger.warn('`relistOn` failed: from now on all ids are listed only by time', { error });
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
  const period = defer(() => after(every * (1 + jitter * (2 * random() - 1)), scheduler));
  const relist = fromInput(relistOn).pipe(
    catchError((error: unknown) => {
      warnOfNotifier(error);
      return EMPTY;
    }),
  );
  // Not in `defer`: terms that are shorter than `every` must not all begin at the same ids (Y3).
  let rounds = 0;
  return defer(() => {
    const next = new NextList();
    const wanted = relist.pipe(
      tap((notification) => {
        next.add(notification);
      }),
      // Shards come many at once: what they say in one breath is one list.
      delayWhen((notification) => (acquisitionOf(notification) === undefined ? of(0) : breath)),
    );
    // The first one, too, if it is of shards: an engine that grants many has granted one of them when the stream begins.
    const due = concat(isAcquired(relistOn) ? breath : of(0), period.pipe(repeat())).pipe(
      tap(() => {
        next.due();
      }),
    );
    const lists = defer(() => {
      const isMeant = next.begin();
      return round.pipe(
        map((ids) => ids.filter(isMeant)),
        finalize(() => {
          next.end();
        }),
      );
    }).pipe(repeat({ delay: () => (next.isWanted ? of(0) : EMPTY) }));
    // In this order: a list may be over when it has begun, and say what makes another one necessary.
    return merge(wanted, due).pipe(
      filter(() => next.isWanted),
      exhaustMap(() => lists),
      mergeMap((ids) => spreadOut(rotated(ids, rounds++), spread, scheduler)),
    );
  });
}

/** In ms: often enough to be even, and no more than ten timers a second. */
const PACE = 100;

/** Emits `values` evenly over `ms`, the first of them at once. */
function spreadOut<T>(values: readonly T[], ms: number, scheduler: SchedulerLike): ObservableInput<T> {
  const parts = Math.min(Math.ceil(ms / PACE), values.length);
  if (parts <= 1) return values;
  const part = (i: number): readonly T[] =>
    values.slice(Math.floor((i * values.length) / parts), Math.floor(((i + 1) * values.length) / parts));
  return after(ms / parts, scheduler).pipe(
    repeat(parts - 1),
    startWith(0),
    mergeMap((_, i) => part(i)),
  );
}

/** Round 0 starts at the first id. */
function rotated(ids: readonly string[], rounds: number): readonly string[] {
  const first = Math.floor(((rounds * GOLDEN) % 1) * ids.length);
  return [...ids.slice(first), ...ids.slice(0, first)];
}
