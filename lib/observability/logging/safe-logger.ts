import { safely } from '../safely.js';
import type { LogFields, Logger, LogLevel } from './logger.js';

/** `logger`, which is code of the user and may throw, or reject: what is logged about goes on all the same. */
export function safeLogger(logger: Logger): Logger {
  const unsafe: Record<LogLevel, (message: string, fields?: LogFields) => unknown> = logger;
  const log = (level: LogLevel) => {
    const tell = safely(([message, fields]: readonly [string, LogFields | undefined]) => unsafe[level](message, fields));
    return (message: string, fields?: LogFields): void => {
      tell([message, fields]);
    };
  };
  return {
    with: (fields) => {
      let bound = logger;
      safely(() => {
        bound = logger.with(fields);
      })(undefined);
      return safeLogger(bound);
    },
    debug: log('debug'),
    info: log('info'),
    warn: log('warn'),
    error: log('error'),
  };
}
