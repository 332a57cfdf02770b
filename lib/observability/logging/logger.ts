/** What goes beside a message, as `name: value`. */
export type LogFields = Readonly<Record<string, unknown>>;

/** How much a message matters, the least first. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/**
 * Where the library logs. pino and winston fit with a line of glue each, see the README.
 *
 * @example
 * const logger = consoleLogger('debug').with({ app: 'dns' });
 * logger.warn('zone is stale', { zone: 'example.org' });
 */
export interface Logger {
  /** A logger that puts `fields` beside each message, besides those it has already. */
  with(fields: LogFields): Logger;
  /** Whether messages of `level` go anywhere, so that those that do not need not be made. Default: they do. */
  isEnabled?(level: LogLevel): boolean;
  /** Logs what is ordinary. */
  debug(message: string, fields?: LogFields): void;
  /** Logs what happens now and then. */
  info(message: string, fields?: LogFields): void;
  /** Logs what has gone wrong and will be tried again, or was given up. */
  warn(message: string, fields?: LogFields): void;
  /** Logs what has gone wrong for good. */
  error(message: string, fields?: LogFields): void;
}

/** Logs nothing. */
export const noopLogger: Logger = {
  with: () => noopLogger,
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};
