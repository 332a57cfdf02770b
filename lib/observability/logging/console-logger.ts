import { check } from '../../../operators/check.js';
import { describeError } from '../../describe-error.js';
import type { LogFields, Logger, LogLevel } from './logger.js';

const LEVELS: readonly LogLevel[] = ['debug', 'info', 'warn', 'error'];

/** How many levels of the fields a console shows: what is deeper it prints as `[Object]`. */
const LEVELS_SHOWN = 3;

/**
 * Logs to the console, from `level` on (default `info`): the message, and the fields as one object behind it. A field that the
 * console would cut off as `[Object]` is written as JSON.
 *
 * @throws TypeError if `level` is none
 * @example
 * new Controller({ observability: observability({ logger: consoleLogger('debug') }) }, reconciler, streams);
 */
export function consoleLogger(level: LogLevel = 'info', bound: LogFields = {}): Logger {
  const least = LEVELS.indexOf(level);
  check('level', level, 'one of debug, info, warn, error', least >= 0);
  const isEnabled = (at: LogLevel): boolean => LEVELS.indexOf(at) >= least;
  const log =
    (at: LogLevel) =>
    (message: string, fields: LogFields = {}): void => {
      if (isEnabled(at)) print(at, message, { ...bound, ...fields });
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

function shallow(fields: LogFields): LogFields {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, isDeep(value, LEVELS_SHOWN - 1) ? json(value) : value]));
}

function isDeep(value: unknown, levels: number): boolean {
  // The console shows errors well, with their causes.
  if (typeof value !== 'object' || value === null || value instanceof Error) return false;
  return levels === 0 || Object.values(value).some((part) => isDeep(part, levels - 1));
}

/** What has no JSON, for it contains itself say, is left to the console. */
function json(value: unknown): unknown {
  try {
    return JSON.stringify(value, (_, part: unknown) => (part instanceof Error ? String(part) : part));
  } catch {
    return value;
  }
}

/** The console throws at what it cannot inspect, and so does JSON: an error whose stack does, for instance. Then it is described (F6). */
function print(level: LogLevel, message: string, fields: LogFields): void {
  try {
    console[level](message, shallow(fields));
  } catch {
    const described = Object.entries(fields).map(([name, value]) => [name, Object(value) === value ? describeError(value) : value]);
    console[level](message, Object.fromEntries(described));
  }
}
