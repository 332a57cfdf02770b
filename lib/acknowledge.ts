import { catchError, concat, defer, EMPTY, from, ignoreElements, mergeMap, type MonoTypeOperatorFunction, type Observable, of } from 'rxjs';
import { callable } from '../operators/config.js';
import { isDelay } from '../operators/errors.js';
import { expected, expectedObject } from '../operators/expected.js';
import { isObservableInput, toObservable } from '../operators/observable-input.js';
import type { Dropped, Rejected, Requeued, Step, Succeeded } from '../operators/types.js';
import { type Answer, isGood, InFlightMessages } from './in-flight-messages.js';
import { safely } from './observability/safely.js';
import { checkObservability, defaultObservability, type Observability } from './observability/observability.js';

/** How {@link acknowledge} tells the broker. What `ack` and `nack` return is waited for where it is a promise or Observable. */
export interface AcknowledgeConfig<M> {
  /** Tells the broker that the message is done with. */
  readonly ack: (message: M, step: Succeeded | Requeued) => unknown;
  /** Tells the broker to deliver the message again in `delay` ms, or whatever else suits the reason that `step` has. */
  readonly nack: (message: M, delay: number, step: Rejected | Dropped) => unknown;
  /**
   * When the broker is to deliver again what was rejected or dropped, in ms: finite, >= 0. Default: 0 where the loop was
   * stopped, since another replica may take it at once; else 5_000, since a full queue and a broken id need time.
   */
  readonly delay?: number | ((step: Rejected | Dropped) => number) | undefined;
  /** Where an `ack` or `nack` that fails is logged. Default {@link defaultObservability}. */
  readonly observability?: Observability | undefined;
}

/**
 * Passes all steps through, and acknowledges the `message` of a trigger when a run that started after it came has succeeded
 * (one that asks for `requeueDelay` has). A message that comes while its id runs waits for the next run; one whose run
 * fails waits for the retry. It is given back with a delay when it is rejected or its id is dropped, for whatever reason,
 * and left alone when the loop is unsubscribed: the broker delivers it again.
 *
 * Each message is answered once. One that was mapped to several ids is acknowledged when all of them are done, and given
 * back when the first is dropped; for this its triggers must come in one go and the reconciler be asynchronous.
 * An answer that fails is logged, and hurts nothing: the broker delivers again. What is remembered is what is in flight.
 *
 * Completes when the steps have, and the last answer is through. Errors only if the steps do.
 *
 * @throws TypeError if a field is out of its range
 * @example
 * const settled$ = controller.steps.pipe(acknowledge<JsMsg>({ ack: (m) => m.ack(), nack: (m, delay) => m.nak(delay) }));
 */
export function acknowledge<M = unknown>(config: AcknowledgeConfig<M>): MonoTypeOperatorFunction<Step> {
  expectedObject('config', config);
  const { ack, nack, delay = afterwards, observability = defaultObservability() } = config;
  callable('ack', ack);
  callable('nack', nack);
  expected('delay', delay, 'a finite number of ms >= 0 or a function', isDelay(delay) || typeof delay === 'function');
  checkObservability('observability', observability);
  const tell = safely(({ step, error }: { readonly step: Answer<M>['step']; readonly error: unknown }) => {
    observability.logger.error(`${isGood(step) ? 'ack' : 'nack'} failed, the broker will deliver again`, { id: step.id, error });
  });
  const delayOf = (step: Rejected | Dropped): number => {
    const ms = typeof delay === 'function' ? delay(step) : delay;
    expected('delay', ms, 'a function that returns a finite number of ms >= 0', isDelay(ms));
    return ms;
  };
  const answer = ({ message, step }: Answer<M>): Observable<never> =>
    defer(() => {
      const done = isGood(step) ? ack(message, step) : nack(message, delayOf(step), step);
      return isObservableInput(done) ? toObservable(done).pipe(ignoreElements()) : EMPTY;
    }).pipe(
      catchError((error: unknown) => {
        tell({ step, error });
        return EMPTY;
      }),
    );
  return (steps) =>
    defer(() => {
      const messages = new InFlightMessages<M>();
      return steps.pipe(
        mergeMap((step) => {
          const answers = messages.enter(step);
          return answers.length === 0 ? of(step) : concat(of(step), from(answers).pipe(mergeMap(answer)));
        }),
      );
    });
}

function afterwards({ reason }: Rejected | Dropped): number {
  return reason === 'stopped' ? 0 : 5_000;
}
