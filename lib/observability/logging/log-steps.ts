import { defer, type MonoTypeOperatorFunction } from 'rxjs';
import { check } from '../../../operators/check.js';
import type { Paused, Resumed, Step } from '../../../operators/types.js';
import { type LogFields, type Logger, type LogLevel, noopLogger } from './logger.js';
import { traceFields } from './logger-with-context.js';
import { tapSafely } from '../tap-safely.js';
import type { Tracing } from '../tracing/tracing.js';

/** Why an id is dropped because somebody wants it. */
const ON_REQUEST: readonly string[] = ['stopped', 'discarded', 'moved'];

/** The least time between two warnings that events are rejected for one reason, in ms: a full queue would flood the log. */
const QUIET = 60_000;

/**
 * Logs what happens in a loop by its steps, which it passes on unchanged. `debug`: the ordinary; `warn`: an attempt that
 * failed, an id dropped, a promise abandoned, and, once a minute, events that are rejected; `info`: what is paused, why, and
 * resumed (without an `id`: the whole loop); `error`: what ends the loop.
 *
 * The message is the kind of the step; `id`, `worker`, and with them `attempt`, `delay`, `error` and so on, where the step
 * has them, are the fields; `traceId` and `spanId` too, if `traces` is given and records further up.
 *
 * @throws TypeError if `logger` is none
 * @example
 * ids$.pipe(reconcile(reconciler), logSteps(consoleLogger('warn'))).subscribe();
 */
export function logSteps(logger: Logger, traces?: Pick<Tracing, 'spanContext'>): MonoTypeOperatorFunction<Step> {
  check('logger', logger, 'a Logger', typeof (logger as Partial<Logger> | undefined)?.debug === 'function');
  return (steps) =>
    defer(() => {
      if (logger === noopLogger) return steps;
      const levelOf = levels();
      const log = (step: Step): void => {
        const level = levelOf(step);
        if (logger.isEnabled?.(level) === false) return;
        // eslint-disable-next-line @typescript-eslint/no-unused-vars -- a logger has a time of its own
        const { kind, at, trigger, ...rest } = step;
        const fields = step.worker === -1 && (kind === 'paused' || kind === 'resumed') ? ofLoop(step) : rest;
        const stream = trigger?.stream === undefined ? undefined : { stream: trigger.stream };
        logger[level](kind, { ...fields, ...stream, ...traceFields(traces?.spanContext(step)) });
      };
      return steps.pipe(
        tapSafely(log, (error) => {
          logger.error('the loop has failed', { error });
        }),
      );
    });
}

function levels(): (step: Step) => LogLevel {
  const warned = new Map<string, number>();
  return (step) => {
    switch (step.kind) {
      case 'requeued':
        return step.failure === undefined || step.failure === 'superseded' ? 'debug' : 'warn';
      case 'dropped':
        // Whoever stops a loop, or discards an id, does not want to hear of each one that waits.
        return step.failure === undefined && ON_REQUEST.includes(step.reason) ? 'debug' : 'warn';
      case 'paused':
      case 'resumed':
        return 'info';
      case 'abandoned':
        return 'warn';
      case 'rejected':
        // An id that belongs to no lane here, or to another process, is so because somebody said so.
        if (step.reason === 'unrouted' || step.reason === 'not_owned' || isQuiet(step.at, warned.get(step.reason))) return 'debug';
        warned.set(step.reason, step.at);
        return 'warn';
      default:
        return 'debug';
    }
  };
}

/** A warning from the future is none: the clock has been set back since. */
function isQuiet(now: number, warned: number | undefined): boolean {
  return warned !== undefined && now >= warned && now < warned + QUIET;
}

/** It has no id, and so its fields have none. */
function ofLoop(step: Paused | Resumed): LogFields {
  return 'why' in step ? { why: step.why } : {};
}
