import { fc, test } from '@fast-check/vitest';
import { describe, expect, it } from 'vitest';
import { draw, Legend } from '../../../lib/testing/diagram.js';
import { lengthOf, parseRow } from '../../../lib/testing/marble-row.js';

const values = (frames: readonly number[]) =>
  [...new Set(frames)].sort((a, b) => a - b).map((frame, i) => ({ frame, symbol: 'abcdefgh'[i % 8]! }));

describe('draw', () => {
  test.prop([fc.array(fc.array(fc.nat(2000), { maxLength: 6 }), { minLength: 1, maxLength: 4 }), fc.nat(3000)])(
    'should draw what can be read back',
    (rows, last) => {
      const end = { frame: last + 2001, symbol: '|' as const };
      const drawn = rows.map((frames) => ({ values: values(frames), end }));
      const { lines, columnOf } = draw(drawn);
      lines.forEach((line, i) => {
        expect(parseRow('row', line)).toMatchObject(drawn[i]!);
        for (const { frame, symbol } of drawn[i]!.values) expect(line[columnOf(frame)]).toBe(symbol);
      });
    },
  );

  it('should draw together what happens together', () => {
    const { lines } = draw([
      {
        values: [
          { frame: 0, symbol: 'a' },
          { frame: 0, symbol: 'b' },
          { frame: 250, symbol: 'a' },
        ],
      },
      {
        values: [
          { frame: 2, symbol: 'c' },
          { frame: 250, symbol: 'c' },
        ],
      },
    ]);
    expect(lines).toEqual(['(ab) 246ms  a', '--  c 247ms c']);
    expect(lines.map((line) => parseRow('row', line).values.map(({ frame }) => frame))).toEqual([
      [0, 0, 250],
      [2, 250],
    ]);
  });
});

describe('parseRow', () => {
  it.each([
    ['', 0],
    ['--a-', 4],
    ['(ab)-', 5],
    [' a 9ms b', 11],
    ['1s -', 1001],
    ['1.5m |', 90_001],
    ['  a  -  b', 3],
  ])('should measure %o as %i frames', (row, length) => {
    expect(parseRow('row', row).length).toBe(length);
  });

  it('should measure rows of subscriptions', () => {
    expect(lengthOf('--^-- 5ms !')).toBe(11);
  });
});

describe('Legend', () => {
  it('should let a character stand for itself, and give letters that are free to the others', () => {
    const legend = new Legend().announce(['web', 'a', 'db', '(', 'a']);
    expect(['web', 'a', 'db', '('].map((thing) => legend.symbolOf(thing))).toEqual(['b', 'a', 'c', 'd']);
    expect(legend.toString()).toBe('b = web, c = db, d = (');
    expect(legend.symbolOf('who?')).toBe('?');
  });

  it('should not run out of letters', () => {
    const things = Array.from({ length: 200 }, (_, i) => `thing ${i}`);
    const legend = new Legend().announce(things);
    expect(new Set(things.map((thing) => legend.symbolOf(thing))).size).toBe(200);
  });
});
