/** A number from 0 to 999 for each id: its priority, or its key. */
export function rankOf(id: string): number {
  return (Number(id.slice('id-'.length)) * 7919) % 1000;
}

/** `count` distinct ids. */
export function distinct(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `id-${i}`);
}
