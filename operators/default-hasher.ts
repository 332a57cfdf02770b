const OFFSET_BASIS = 0x811c9dc5;
const PRIME = 0x01000193;

/**
 * Routes an id to a lane: FNV-1a, 32 bits, over the UTF-8 bytes of `id`, modulo `count`.
 *
 * It is the hash of the Go original, so that an id has the same lane in both. A lone surrogate, which UTF-8 has no
 * bytes for, counts as U+FFFD, as `TextEncoder` has it.
 *
 * @param count - how many lanes there are, an integer >= 1
 * @returns an integer from 0 to `count - 1`
 * @see {@link http://www.isthe.com/chongo/tech/comp/fnv/}
 * @example
 * defaultHasher('a', 16); // 12
 */
export function defaultHasher(id: string, count: number): number {
  return count === 1 ? 0 : fnv1a(id) % count;
}

function fnv1a(id: string): number {
  let hash = OFFSET_BASIS;
  for (let i = 0; i < id.length; i++) {
    const unit = id.charCodeAt(i);
    if (unit < 0x80) {
      hash = mix(hash, unit);
      continue;
    }
    let point = id.codePointAt(i) as number;
    if (point >= 0x10000) i++;
    else if (point >= 0xd800 && point <= 0xdfff) point = 0xfffd;
    if (point >= 0x10000) {
      hash = mix(hash, 0xf0 | (point >> 18));
      hash = mix(hash, 0x80 | ((point >> 12) & 0x3f));
      hash = mix(hash, 0x80 | ((point >> 6) & 0x3f));
    } else if (point >= 0x800) {
      hash = mix(hash, 0xe0 | (point >> 12));
      hash = mix(hash, 0x80 | ((point >> 6) & 0x3f));
    } else {
      hash = mix(hash, 0xc0 | (point >> 6));
    }
    hash = mix(hash, 0x80 | (point & 0x3f));
  }
  return hash >>> 0;
}

function mix(hash: number, byte: number): number {
  return Math.imul(hash ^ byte, PRIME);
}
