/** Copies plain data: `structuredClone`, several times as fast for what worlds are made of. */
export function clone<T>(value: T): T {
  return typeof value === 'object' && value !== null ? (copy(value) as T) : value;
}

function copy(value: object): object {
  if (Array.isArray(value)) return (value as unknown[]).map(clone);
  if (value instanceof Map) return new Map([...value].map(([key, item]) => [clone(key as unknown), clone(item as unknown)]));
  if (value instanceof Set) return new Set([...value].map(clone));
  if (Object.getPrototypeOf(value) !== Object.prototype) return structuredClone(value);
  const copied: Record<string, unknown> = { ...value };
  // Only what needs it is written again: by far the most is numbers and strings.
  for (const key of Object.keys(copied)) {
    const item = copied[key];
    if (typeof item === 'object') copied[key] = clone(item);
  }
  return copied;
}
