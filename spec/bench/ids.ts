/** `count` distinct ids. */
export function distinct(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `id-${i}`);
}
