import type { LogFields, Logger } from './logger.js';

const LEVELS = ['debug', 'info', 'warn', 'error'] as const;

/**
 * Logs to the console, from `level` on (default `info`): the message, and the fields as one object behind it.
 *
 * @example
 * new Controller({ observability: observability({ logger: consoleLogger('debug') }) }, reconciler, streams);
 */
export function consoleLogger(level: (typeof LEVELS)[number] = 'info', bound: LogFields = {}): Logger {
  const log = (at: (typeof LEVELS)[number]) => {
    const silent = LEVELS.indexOf(at) < LEVELS.indexOf(level);
    return (message: string, fields: LogFields = {}): void => {
      if (!silent) console[at](message, { ...bound, ...fields });
    };
  };
  return {
    with: (fields) => consoleLogger(level, { ...bound, ...fields }),
    debug: log('debug'),
    info: log('info'),
    warn: log('warn'),
    error: log('error'),
  };
}
