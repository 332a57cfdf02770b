import type { LogFields, Logger, LogLevel } from 'kreconciler';

export type Line = readonly [level: LogLevel, message: string, fields: LogFields];

/** A logger whose lines can be read. */
export function logged(lines: Line[] = [], bound: LogFields = {}): { logger: Logger; lines: Line[] } {
  const log =
    (level: LogLevel) =>
    (message: string, fields: LogFields = {}): void => {
      lines.push([level, message, { ...bound, ...fields }]);
    };
  const logger: Logger = {
    with: (fields) => logged(lines, { ...bound, ...fields }).logger,
    debug: log('debug'),
    info: log('info'),
    warn: log('warn'),
    error: log('error'),
  };
  return { logger, lines };
}
