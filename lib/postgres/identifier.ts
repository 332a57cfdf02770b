import { check } from '../../operators/check.js';

/** PostgreSQL cuts longer names off, so that two channels would be one. */
const LONGEST = 63;

/** A name as SQL: in quotes, so that it is taken as it stands, upper case and `";` included. */
export function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** @throws TypeError if `value` cannot be the name of a channel or a table */
export function checkIdentifier(field: string, value: unknown): void {
  check(
    field,
    value,
    `a name of 1 to ${String(LONGEST)} bytes without NUL`,
    typeof value === 'string' && value !== '' && new TextEncoder().encode(value).length <= LONGEST && !value.includes('\0'),
  );
}
