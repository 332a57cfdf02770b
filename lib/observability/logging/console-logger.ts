import type { LogFields, Logger, LogLevel } from './logger.js';

const LEVELS: readonly LogLevel[] = ['debug', 'info', 'warn', 'error'];

/**
 * Logs to the console, from `level` on (default `info`): the message, and the fields as one object behind it.
 *
 * @example
 * new Controller({ observability: observability({ logger: consoleLogger('debug') }) }, reconciler, streams);
 */
export function consoleLogger(level: LogLevel = 'info', bound: LogFields = {}): Logger {
  const least = LEVELS.indexOf(level);
  const isEnabled = (at: LogLevel): boolean => LEVELS.indexOf(at) >= least;
  const log =
    (at: LogLevel) =>
    (message: string, fields: LogFields = {}): void => {
      if (isEnabled(at)) console[at](message, { ...bound, ...fields });
    };
  return {
    with: (fields) => consoleLogger(level, { ...bound, ...fields }),
    isEnabled,
    debug: log('debug'),
    info: log('info'),
    warn: log('warn'),
    error: log('error'),
  };
}
