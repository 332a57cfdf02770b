/**
 * Checks one field of a configuration.
 *
 * @throws TypeError ``Expected `workerCount` to be an integer >= 1, got `0` (number)``
 */
export function expected(field: string, value: unknown, expectation: string, holds: boolean): void {
  if (!holds) throw new TypeError(`Expected \`${field}\` to be ${expectation}, got ${shown(value)}`);
}

/** Checks that a configuration is an object at all, before its fields are read. */
export function expectedObject(field: string, value: unknown): void {
  expected(field, value, 'an object', typeof value === 'object' && value !== null);
}

/** A value as an error message shows it: `` `0` (number) ``. Never throws, whatever it is given. */
export function shown(value: unknown): string {
  if (value === undefined || value === null) return `\`${String(value)}\``;
  return `\`${text(value)}\` (${typeof value})`;
}

function text(value: unknown): string {
  try {
    if (typeof value === 'function') return value.name === '' ? 'anonymous' : value.name;
    const shown = typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value);
    return shown.length > 100 ? `${shown.slice(0, 100)}…` : shown;
  } catch {
    // Nothing that can be done to a value is safe: a proxy may throw even when it is asked for its tag.
    return '…';
  }
}
