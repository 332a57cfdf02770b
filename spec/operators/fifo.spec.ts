import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Fifo } from '../../operators/fifo.js';

describe('Fifo', () => {
  it('should give back what was pushed, in that order, whenever that happens', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(200), { maxLength: 40 }), (counts) => {
        const fifo = new Fifo<number>();
        const model: number[] = [];
        let pushed = 0;
        for (const [i, count] of counts.entries()) {
          for (let n = 0; n < count; n++) {
            if (i % 2 === 1) {
              expect(fifo.shift()).toBe(model.shift());
            } else {
              model.push(++pushed);
              fifo.push(pushed);
            }
            expect(fifo.isEmpty).toBe(model.length === 0);
          }
        }
        while (model.length > 0) expect(fifo.shift()).toBe(model.shift());
        expect(fifo.shift()).toBeUndefined();
      }),
    );
  });

  it('should not grow though it is never empty, as the line of workers that want a place may be', () => {
    const fifo = new Fifo<string>();
    for (const id of ['web', 'mail', 'dns']) fifo.push(id);
    // What is cut off is garbage for a while, 16 MiB at most; without it 3,000,000 turns are 84 MiB.
    const before = process.memoryUsage().heapUsed;
    for (let i = 0; i < 3_000_000; i++) fifo.push(fifo.shift() ?? '');
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(40 * 2 ** 20);
    expect([fifo.shift(), fifo.shift(), fifo.shift(), fifo.shift()]).toEqual(['web', 'mail', 'dns', undefined]);
  });
});
