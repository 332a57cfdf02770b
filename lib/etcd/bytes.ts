/** Text as the gateway wants it: base64 of its UTF-8 bytes. */
export function encoded(text: string): string {
  return base64(new TextEncoder().encode(text));
}

/** The text that the gateway gave in base64; it leaves out what is empty. */
export function decoded(text = ''): string {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  // What begins it may be a byte order mark, which is a part of it as any other.
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
}

/** A range of keys, as the gateway wants it. */
export interface KeyRange {
  readonly key: string;
  readonly range_end: string;
}

/** All keys that begin with `prefix`: up to the first that comes after them all. */
export function withPrefix(prefix: string): KeyRange {
  const bytes = new TextEncoder().encode(prefix);
  const last = bytes.length - 1;
  // etcd's own sign for all keys there are.
  if (last < 0) return { key: encoded('\0'), range_end: encoded('\0') };
  const end = Uint8Array.from(bytes);
  // No byte of UTF-8 is 255.
  end[last] = (bytes[last] as number) + 1;
  return { key: base64(bytes), range_end: base64(end) };
}

/** The key that comes next after `key`; both are in base64. */
export function following(key: string): string {
  return btoa(`${atob(key)}\0`);
}

function base64(bytes: Uint8Array): string {
  let binary = '';
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}
