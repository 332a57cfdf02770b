/** An error in the words of the library: what was expected of `field`, and what came. */
export function unexpected(field: string, expectation: string, got: unknown): TypeError {
  return new TypeError(`Expected \`${field}\` to be ${expectation}, got ${shown(got)}`);
}

function shown(value: unknown): string {
  if (value === undefined) return 'nothing';
  return typeof value === 'string' ? `\`${value}\`` : `\`${JSON.stringify(value)}\` (${typeof value})`;
}
