/** Spreads ids over `count` lanes, as one would write it. */
export function hash(id: string, count: number): number {
  let hash = 0;
  for (let i = 0; i < id.length; i++) hash = (hash * 31 + id.charCodeAt(i)) | 0;
  return (hash >>> 0) % count;
}
