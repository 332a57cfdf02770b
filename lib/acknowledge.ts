import {
  asyncScheduler,
  catchError,
  concat,
  defer,
  distinctUntilChanged,
  EMPTY,
  finalize,
  from,
  ignoreElements,
  map,
  merge,
  mergeMap,
  type MonoTypeOperatorFunction,
  type Observable,
  of,
  repeat,
  type SchedulerLike,
  Subject,
  switchMap,
  takeUntil,
  tap,
} from 'rxjs';
import { after } from '../operators/after.js';
import { check, checkFunction, checkInterval, checkObject, checkScheduler, checkTimeout, isDelay } from '../operators/check.js';
import { isObservableInput } from '../operators/observable-input.js';
import type { Dropped, Rejected, Requeued, Step, Succeeded } from '../operators/types.js';
import { fromInput } from './from-input.js';
import { type Answer, InFlightMessages, isGood } from './in-flight-messages.js';
import { safely } from './observability/safely.js';
import { checkObservability, defaultObservability, type Observability } from './observability/observability.js';

/** How {@link acknowledge} answers the broker. What its functions return is waited for where it is a promise or Observable. */
export interface AcknowledgeConfig<M> {
  /** Says to the broker that the message is done with. */
  readonly ack: (message: M, step: Succeeded | Requeued) => unknown;
  /** Asks the broker to deliver the message again in `delay` ms, or whatever else suits the reason that `step` has. */
  readonly nack: (message: M, delay: number, step: Rejected | Dropped) => unknown;
  /**
   * When the broker is to deliver again what was rejected or dropped, in ms: finite, >= 0. Default: 0 where the loop was
   * stopped or the shard has moved, since another replica may take it at once; 1_000 where another process has the shard,
   * since competing consumers would hand it round without a pause; else 5_000, since a full queue and a broken id need time.
   */
  readonly delay?: number | ((step: Rejected | Dropped) => number) | undefined;
  /**
   * Extends the deadline that the broker has set for the message, for brokers that take back what takes long. Called every
   * `workingEvery` ms for each message whose id is in flight: queued, running, or waiting for a retry. Default: none.
   */
  readonly working?: ((message: M) => unknown) | undefined;
  /**
   * How often `working` is called, in ms; finite, > 0. Default 5_000: half of the shortest deadline that is common among
   * brokers (10 s), so that one late call does no harm.
   */
  readonly workingEvery?: number | undefined;
  /**
   * How long what `ack`, `nack` or `working` returned may take to settle, in ms; Infinity means no limit. After it, it is given up
   * and logged as failed. Default 30_000: far longer than any broker takes, and an answer that hangs must not keep this
   * operator open for ever after the loop has stopped.
   */
  readonly timeout?: number | undefined;
  /** Where an answer that fails is logged. Default {@link defaultObservability}. */
  readonly observability?: Observability | undefined;
  /** The only source of time. Default `asyncScheduler`. */
  readonly scheduler?: SchedulerLike | undefined;
}

/**
 * Passes all steps through, and acknowledges the `message` of a trigger when a run that started after it came has succeeded
 * (one that asks for `requeueDelay` has). A message that comes while its id runs waits for the next run; one whose run
 * fails waits for the retry. It is given back with a delay when it is rejected or its id is dropped, for whatever reason,
 * and left alone when the loop is unsubscribed: the broker delivers it again. So it is with the messages of the triggers that
 * a trigger has `absorbed`.
 *
 * Each message is answered once. One that was mapped to several ids says on each trigger into how many (`parts`): it is
 * acknowledged when all of them are done, and given back when the first is rejected or dropped.
 * An answer that fails or is over time is logged, and the loop goes on: the broker delivers again. What is remembered is
 * what is in flight.
 *
 * Completes when the steps have, and the last answer is through or over time. Errors only if the steps do.
 *
 * @throws TypeError if a field is out of its range
 * @example
 * const deliveries$ = messages$.pipe(
 *   mergeMap((message) => message.ids.map((id) => ({ id, message, parts: message.ids.length }))),
 * );
 * const settled$ = controller.steps.pipe(
 *   acknowledge<JsMsg>({ ack: (m) => m.ack(), nack: (m, delay) => m.nak(delay), working: (m) => m.working() }),
 * );
 */
export function acknowledge<M = unknown>(config: AcknowledgeConfig<M>): MonoTypeOperatorFunction<Step> {
  checkObject('config', config);
  const { ack, nack, delay = afterwards, working, workingEvery = 5_000, timeout = 30_000 } = config;
  const { observability = defaultObservability(), scheduler = asyncScheduler } = config;
  checkFunction('ack', ack);
  checkFunction('nack', nack);
  check('delay', delay, 'a finite number of ms >= 0 or a function', isDelay(delay) || typeof delay === 'function');
  if (working !== undefined) checkFunction('working', working);
  checkInterval('workingEvery', workingEvery);
  checkTimeout('timeout', timeout);
  checkObservability('observability', observability);
  checkScheduler('scheduler', scheduler);
  const { logger } = observability;

  const overtime = after(timeout, scheduler).pipe(
    map((): never => {
      throw new Error(`The broker has not answered for ${String(timeout)} ms`);
    }),
  );
  /** Never errors: what fails is logged. */
  const call = (act: () => unknown, onError: (error: unknown) => void): Observable<never> =>
    defer(() => {
      const done = act();
      return isObservableInput(done) ? fromInput(done).pipe(ignoreElements(), takeUntil(overtime)) : EMPTY;
    }).pipe(
      catchError((error: unknown) => {
        onError(error);
        return EMPTY;
      }),
    );
  const delayOf = (step: Rejected | Dropped): number => {
    const ms = typeof delay === 'function' ? delay(step) : delay;
    check('delay', ms, 'a function that returns a finite number of ms >= 0', isDelay(ms));
    return ms;
  };
  const answer = ({ message, step }: Answer<M>): Observable<never> =>
    call(
      () => (isGood(step) ? ack(message, step) : nack(message, delayOf(step), step)),
      safely((error) => {
        logger.error(`${isGood(step) ? 'ack' : 'nack'} failed, the broker will deliver again`, { id: step.id, error });
      }),
    );
  const extend = (message: M): Observable<never> =>
    call(
      () => working?.(message),
      safely((error) => {
        logger.error('working failed, the broker may deliver again what is in flight', { error });
      }),
    );
  return (steps) =>
    defer(() => {
      const messages = new InFlightMessages<M>();
      const answered = (step: Step): Observable<Step> => {
        const answers = messages.enter(step);
        return answers.length === 0 ? of(step) : concat(of(step), from(answers).pipe(mergeMap(answer)));
      };
      if (working === undefined) return steps.pipe(mergeMap(answered));
      const inFlight = new Subject<boolean>();
      const over = new Subject<void>();
      const ticks = after(workingEvery, scheduler).pipe(repeat());
      const extensions = inFlight.pipe(
        distinctUntilChanged(),
        switchMap((isAny) => (isAny ? ticks : EMPTY)),
        mergeMap(() => from(messages.unanswered).pipe(mergeMap(extend))),
        takeUntil(over),
      );
      const passed = steps.pipe(
        mergeMap(answered),
        tap(() => {
          inFlight.next(!messages.isEmpty);
        }),
        finalize(() => {
          over.next();
        }),
      );
      return merge(extensions, passed);
    });
}

function afterwards({ reason }: Rejected | Dropped): number {
  if (reason === 'stopped' || reason === 'moved') return 0;
  return reason === 'not_owned' ? 1_000 : 5_000;
}
