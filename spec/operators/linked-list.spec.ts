import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LinkedList, type LinkedListNode } from '../../operators/linked-list.js';

class Node implements LinkedListNode<Node> {
  previous: Node | undefined = undefined;
  next: Node | undefined = undefined;

  constructor(readonly name: number) {}
}

function filled(...names: number[]): { list: LinkedList<Node>; nodes: Node[] } {
  const list = new LinkedList<Node>();
  const nodes = names.map((name) => new Node(name));
  for (const node of nodes) list.push(node);
  return { list, nodes };
}

function drain(list: LinkedList<Node>): number[] {
  const names: number[] = [];
  for (let node = list.shift(); node !== undefined; node = list.shift()) names.push(node.name);
  return names;
}

describe('List', () => {
  it('should give back first what came first', () => {
    expect(drain(filled(1, 2, 3).list)).toEqual([1, 2, 3]);
  });

  it('should be empty at first, and again when all are out', () => {
    const { list } = filled();
    expect(list.isEmpty).toBe(true);
    expect(list.shift()).toBeUndefined();
    list.push(new Node(1));
    expect(list.isEmpty).toBe(false);
    list.shift();
    expect(list.isEmpty).toBe(true);
  });

  it.each([
    ['the first', 0, [2, 3]],
    ['one in the middle', 1, [1, 3]],
    ['the last', 2, [1, 2]],
  ])('should let %s be taken out', (_name, index, left) => {
    const { list, nodes } = filled(1, 2, 3);
    list.remove(nodes[index]!);
    expect(drain(list)).toEqual(left);
  });

  it('should let the only one be taken out', () => {
    const { list, nodes } = filled(1);
    list.remove(nodes[0]!);
    expect(list.isEmpty).toBe(true);
    list.push(new Node(2));
    expect(drain(list)).toEqual([2]);
  });

  it('should take a node again that has left', () => {
    const { list, nodes } = filled(1, 2, 3);
    list.remove(nodes[0]!);
    list.push(nodes[0]!);
    expect(drain(list)).toEqual([2, 3, 1]);
  });

  it('should cut the links of a node that has left, or it would keep all that were behind it', () => {
    const { list, nodes } = filled(1, 2, 3);
    list.remove(nodes[1]!);
    expect([nodes[1]!.previous, nodes[1]!.next]).toEqual([undefined, undefined]);
    list.shift();
    expect([nodes[0]!.next, nodes[2]!.previous]).toEqual([undefined, undefined]);
  });

  it('should do what an array does, whatever is pushed, shifted and taken out', () => {
    const command = fc.oneof(fc.constant('push' as const), fc.constant('shift' as const), fc.nat(20));
    fc.assert(
      fc.property(fc.array(command, { size: 'medium' }), (commands) => {
        const list = new LinkedList<Node>();
        const array: Node[] = [];
        commands.forEach((command, name) => {
          if (command === 'push') {
            const node = new Node(name);
            list.push(node);
            array.push(node);
          } else if (command === 'shift') {
            expect(list.shift()).toBe(array.shift());
          } else if (command < array.length) {
            list.remove(array.splice(command, 1)[0]!);
          }
          expect(list.isEmpty).toBe(array.length === 0);
        });
        expect(drain(list)).toEqual(array.map((node) => node.name));
      }),
    );
  });
});
