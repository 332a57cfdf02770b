import type { Logger } from 'kreconciler';
import { type DestinationStream, type Logger as Pino, pino } from 'pino';

/** A pino logger as the library wants it. */
export function pinoLogger(logger: Pino): Logger {
  return {
    with: (fields) => pinoLogger(logger.child(fields)),
    isEnabled: (level) => logger.isLevelEnabled(level),
    debug: (message, fields) => {
      logger.debug(fields, message);
    },
    info: (message, fields) => {
      logger.info(fields, message);
    },
    warn: (message, fields) => {
      logger.warn(fields, message);
    },
    error: (message, fields) => {
      logger.error(fields, message);
    },
  };
}

/** pino writes the errors of the field `err`; the library's field is `error`. */
export function makePino(destination?: DestinationStream): Pino {
  return pino({ level: 'info', serializers: { error: pino.stdSerializers.err } }, destination);
}
