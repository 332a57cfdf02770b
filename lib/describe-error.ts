import { shown } from '../operators/shown.js';

/** What is said of an error in messages, logs and journals. */
export interface ErrorDescription {
  readonly name: string;
  readonly message: string;
}

/**
 * Name and message of whatever was thrown. Never throws itself: not for a symbol, an object without a prototype, a getter
 * that throws or a revoked proxy, so that no error hides what failed (F6).
 *
 * @example
 * describeError(Object.create(null)); // { name: 'Error', message: '`{}` (object)' }
 */
export function describeError(error: unknown): ErrorDescription {
  const isObject = (typeof error === 'object' && error !== null) || typeof error === 'function';
  if (!isObject) return { name: 'Error', message: String(error) };
  return { name: text(error, 'name') ?? 'Error', message: text(error, 'message') ?? shown(error) };
}

/** An error that says what failed, and has `error` as its cause. */
export function failed(what: string, error: unknown): Error {
  return new Error(`${what} failed: ${describeError(error).message}`, { cause: error });
}

function text(error: object, field: string): string | undefined {
  try {
    const value: unknown = Reflect.get(error, field);
    return typeof value === 'string' ? value : undefined;
  } catch {
    return undefined;
  }
}
