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
