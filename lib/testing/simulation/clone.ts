/** Copies plain data: `structuredClone`, several times as fast for what worlds are made of. */
export function clone<T>(value: T): T {
  return typeof value === 'object' && value !== null ? (copy(value) as T) : value;
}

function copy(value: object): object {
  if (Array.isArray(value)) return (value as unknown[]).map(clone);
  if (value instanceof Map) return new Map([...value].map(([key, item]) => [clone(key as unknown), clone(item as unknown)]));
  if (value instanceof Set) return new Set([...value].map(clone));
  if (Object.getPrototypeOf(value) !== Object.prototype) return structuredClone(value);
  const copied: Record<string, unknown> = {};
  for (const key of Object.keys(value)) copied[key] = clone((value as Record<string, unknown>)[key]);
  return copied;
}
