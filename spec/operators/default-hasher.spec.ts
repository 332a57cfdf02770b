import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { defaultHasher } from 'kreconciler/operators';
import { describe, expect, it } from 'vitest';

interface Golden {
  readonly longAlphabetSum: number;
  readonly rows: readonly { readonly id: string; readonly sum: number; readonly lanes: Readonly<Record<string, number>> }[];
}

/** What the Go original computes. */
const golden = JSON.parse(readFileSync(new URL('../golden/fnv1a.json', import.meta.url), 'utf8')) as Golden;

/** With so many lanes the lane is the hash itself. */
const ALL = 2 ** 32;

/** FNV-1a as its authors wrote it, over the bytes that the platform makes. */
function fnv1a(id: string): number {
  let hash = 0x811c9dc5n;
  for (const byte of new TextEncoder().encode(id)) hash = ((hash ^ BigInt(byte)) * 0x01000193n) & 0xffffffffn;
  return Number(hash);
}

describe('defaultHasher', () => {
  it.each(golden.rows)('should give $id the lanes that the Go original gives it', ({ id, sum, lanes }) => {
    expect(defaultHasher(id, ALL)).toBe(sum);
    for (const [count, lane] of Object.entries(lanes)) expect(defaultHasher(id, Number(count)), `of ${count}`).toBe(lane);
  });

  it('should hash an id of 100000 bytes', () => {
    const id = 'abcdefghijklmnopqrstuvwxyz'.repeat(4000).slice(0, 100_000);
    expect(defaultHasher(id, ALL)).toBe(golden.longAlphabetSum);
  });

  it('should be FNV-1a over the UTF-8 bytes of any string', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 30 }), (id) => {
        expect(defaultHasher(id, ALL)).toBe(fnv1a(id));
      }),
      { numRuns: 2000 },
    );
  });

  it.each([
    ['the empty string', ''],
    ['the last of one byte', '\u007f'],
    ['the first of two bytes', '\u0080'],
    ['the last of two bytes', '\u07ff'],
    ['the first of three bytes', '\u0800'],
    ['the last before the surrogates', '\ud7ff'],
    ['the first behind the surrogates', '\ue000'],
    ['the last of three bytes', '\uffff'],
    ['the first of four bytes', '\u{10000}'],
    ['the last of four bytes', '\u{10ffff}'],
    ['a lone high surrogate', '\ud800'],
    ['a lone high surrogate in front of a letter', '\udbffa'],
    ['a lone low surrogate', '\udc00'],
    ['the last low surrogate, alone', '\udfff'],
    ['surrogates the wrong way round', '\udc00\ud800'],
  ])('should take the bytes of %s', (_name, id) => {
    expect(defaultHasher(id, ALL)).toBe(fnv1a(id));
  });

  it('should answer an integer from 0 to `count - 1`', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.integer({ min: 1, max: 1000 }), (id, count) => {
        const lane = defaultHasher(id, count);
        expect(Number.isInteger(lane) && lane >= 0 && lane < count).toBe(true);
      }),
    );
  });

  it('should spread ids evenly over the lanes', () => {
    const lanes = new Array<number>(8).fill(0);
    for (let i = 0; i < 8000; i++) lanes[defaultHasher(`service-${i}`, 8)]!++;
    expect(Math.min(...lanes)).toBeGreaterThan(900);
    expect(Math.max(...lanes)).toBeLessThan(1100);
  });
});
