import type { Logger } from 'kreconciler';
import { createLogger, format, type Logger as Winston, transports } from 'winston';

/** A winston logger as the library wants it. */
export function winstonLogger(logger: Winston): Logger {
  return {
    with: (fields) => winstonLogger(logger.child(fields)),
    isEnabled: (level) => logger.isLevelEnabled(level),
    debug: (message, fields) => {
      logger.debug(message, fields);
    },
    info: (message, fields) => {
      logger.info(message, fields);
    },
    warn: (message, fields) => {
      logger.warn(message, fields);
    },
    error: (message, fields) => {
      logger.error(message, fields);
    },
  };
}

/** winston writes an error in a field as `{}`, unless told otherwise. */
const errors = format((info) => {
  const { error } = info;
  return error instanceof Error ? { ...info, error: { message: error.message, stack: error.stack } } : info;
});

export function makeWinston(stream: NodeJS.WritableStream = process.stdout): Winston {
  return createLogger({
    level: 'info',
    format: format.combine(errors(), format.timestamp(), format.json()),
    // eslint-disable-next-line @typescript-eslint/no-unsafe-class-instance-assignment -- its own, as winston's types have it
    transports: new transports.Stream({ stream }),
  });
}
