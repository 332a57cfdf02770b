import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Heap, type HeapNode } from '../../operators/heap.js';

describe('Heap', () => {
  it('should have the least one first, whatever comes, goes, or comes later than it did', () => {
    const does = fc.record({ does: fc.constantFrom('push', 'remove', 'sink'), which: fc.nat(50), due: fc.nat(5) });
    fc.assert(
      fc.property(fc.array(does, { maxLength: 80 }), (commands) => {
        const heap = new Heap<HeapNode>();
        const nodes: HeapNode[] = [];
        commands.forEach(({ does, which, due }, order) => {
          const node = nodes[which % nodes.length];
          if (does === 'push') {
            const pushed = { due, order, index: -1 };
            nodes.push(pushed);
            heap.push(pushed);
          } else if (node !== undefined && does === 'remove') {
            nodes.splice(nodes.indexOf(node), 1);
            heap.remove(node);
          } else if (node !== undefined) {
            node.due += due;
            heap.sink(node);
          }
          expect(heap.size).toBe(nodes.length);
          expect(heap.peek()).toBe([...nodes].sort((a, b) => a.due - b.due || a.order - b.order)[0]);
        });
      }),
    );
  });
});
