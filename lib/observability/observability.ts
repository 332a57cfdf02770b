import type { MeterProvider, TracerProvider } from '@opentelemetry/api';
import { check } from '../../operators/check.js';
import { consoleLogger } from './logging/console-logger.js';
import type { Logger } from './logging/logger.js';

/** Where a loop reports what it does. */
export interface Observability {
  readonly logger: Logger;
  /** Default: the globally registered one, looked up when it is needed, so that it may be registered late. */
  readonly meterProvider?: MeterProvider | undefined;
  /** Default: the globally registered one, likewise. */
  readonly tracerProvider?: TracerProvider | undefined;
}

/** @throws TypeError that names the field, if `value` has no logger */
export function checkObservability(field: string, value: unknown): void {
  const { logger } = Object(value) as Partial<Observability>;
  const isObject = typeof logger === 'object' && (logger as unknown) !== null;
  check(field, value, 'an Observability with a logger', isObject);
  check(`${field}.logger`, logger, 'a Logger, which has a method `with`, as `consoleLogger()` has', typeof logger?.with === 'function');
}

/**
 * Warnings and errors to the console, metrics and traces to the globally registered providers, if any. (The Go original is
 * silent by default; a failing list must not go unnoticed. Give `noopLogger` for silence.)
 */
export function defaultObservability(): Observability {
  return observability();
}

/**
 * An {@link Observability} of the given parts, with the defaults for the others.
 *
 * @example
 * observability({ logger: noopLogger, meterProvider });
 */
export function observability({ logger = consoleLogger('warn'), ...providers }: Partial<Observability> = {}): Observability {
  return { logger, ...providers };
}
