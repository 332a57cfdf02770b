import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hashOf, IdIndex, type IdNode, walkOf } from '../../operators/id-index.js';

class Node implements IdNode<Node> {
  nextInBucket: Node | undefined = undefined;
  sequence = 0;

  constructor(
    readonly id: string,
    readonly hash = hashOf(id),
  ) {}
}

const ids = (count: number): string[] => Array.from({ length: count }, (_, i) => `id-${String(i)}`);

/** With all nodes of `names`, by name. */
function filled(names: readonly string[], hash?: number): { index: IdIndex<Node>; nodes: Node[] } {
  const index = new IdIndex<Node>();
  const nodes = names.map((name) => new Node(name, hash));
  for (const node of nodes) index.add(node);
  return { index, nodes };
}

describe('IdIndex', () => {
  it('should find what was added, and nothing else', () => {
    const { index, nodes } = filled(['a', 'b']);
    expect([index.get('a'), index.get('b'), index.get('c')]).toEqual([...nodes, undefined]);
    expect(index.size).toBe(2);
  });

  it('should no longer find what was removed, and the others still', () => {
    const { index, nodes } = filled(ids(1000));
    for (const node of nodes.slice(0, 900)) index.remove(node);
    expect(nodes.map(({ id }) => index.get(id))).toEqual(nodes.map((node, i) => (i < 900 ? undefined : node)));
    expect(index.size).toBe(100);
  });

  it.each(['__proto__', 'constructor', '', '\u0000', '\ud800', 'ä', '\u{1f600}', 'x'.repeat(10_000)])(
    'should take %j for an ordinary id',
    (id) => {
      const { index, nodes } = filled([...ids(20), id]);
      expect(index.get(id)).toBe(nodes.at(-1));
      index.remove(nodes.at(-1)!);
      expect(index.get(id)).toBeUndefined();
    },
  );

  it('should take a node again that was removed', () => {
    const { index, nodes } = filled(['a']);
    index.remove(nodes[0]!);
    index.add(nodes[0]!);
    expect(index.values()).toEqual(nodes);
  });

  it('should not mind a node that is not there', () => {
    const { index, nodes } = filled(['a']);
    index.remove(new Node('a'));
    index.remove(new Node('b'));
    expect(index.values()).toEqual(nodes);
    expect(index.size).toBe(1);
  });

  it('should let go of all at once', () => {
    const { index, nodes } = filled(ids(100), 7);
    index.clear();
    expect([index.size, index.values(), index.get('id-1', 7), index.get('id-99', 7)]).toEqual([0, [], undefined, undefined]);
    index.add(nodes[0]!);
    expect(index.values()).toEqual([nodes[0]]);
  });

  it('should keep no link in a node that was removed, lest it keep others alive', () => {
    const { index, nodes } = filled(ids(10), 7);
    for (const node of nodes) index.remove(node);
    expect(nodes.map(({ nextInBucket }) => nextInBucket)).toEqual(nodes.map(() => undefined));
  });

  it('should look at a few nodes only, though all ids collide', () => {
    let looks = 0;
    class Counted implements IdNode<Counted> {
      readonly hash = 7;
      sequence = 0;
      #sibling: Counted | undefined;

      constructor(readonly id: string) {}

      get nextInBucket(): Counted | undefined {
        looks++;
        return this.#sibling;
      }

      set nextInBucket(sibling) {
        this.#sibling = sibling;
      }
    }
    const index = new IdIndex<Counted>();
    const nodes = ids(1000).map((name) => new Counted(name));
    for (const node of nodes) index.add(node);
    for (const { id } of nodes) index.get(id, 7);
    for (const node of nodes) index.remove(node);
    expect(index.size).toBe(0);
    expect(looks).toBeLessThan(1000 * 100);
  });

  it('V4 should show bit by bit what is there all the while, once, though the table grows and shrinks meanwhile', () => {
    const { index, nodes } = filled(ids(1000), undefined);
    const collided = ids(40).map((name) => new Node(`x${name}`, 7));
    for (const node of collided) index.add(node);
    let seen: Node[] = [];
    let restarts = 0;
    const walk = walkOf(
      index,
      (node) => seen.push(node),
      () => {
        restarts++;
        seen = [];
      },
    );
    const more = ids(5000).map((name) => new Node(`y${name}`));
    for (let i = 0; !walk(100); i++) {
      if (i === 3) for (const node of more) index.add(node);
      if (i === 20) for (const node of more) index.remove(node);
      if (i === 22) index.remove(nodes[0]!);
    }
    expect(restarts).toBeGreaterThan(0);
    expect(new Set(seen).size).toBe(seen.length);
    const known = new Set(seen);
    expect([...nodes.slice(1), ...collided].filter((node) => !known.has(node))).toEqual([]);
  });

  it('should agree with a Map, whatever collides', () => {
    const command = fc.record({
      verb: fc.constantFrom('add', 'add', 'add', 'remove', 'remove', 'clear' as const),
      name: fc.nat(200).map((name) => String(name)),
    });
    // Of the ids some collide always, some while the table is small, and some by chance at most.
    const hash = fc.constantFrom(
      () => 7,
      (name: string) => 16 * (Number(name) % 5),
      hashOf,
    );
    fc.assert(
      fc.property(fc.array(command, { maxLength: 400, size: 'max' }), hash, (commands, hashed) => {
        const index = new IdIndex<Node>();
        const model = new Map<string, Node>();
        for (const { verb, name } of commands) {
          const known = model.get(name);
          if (verb === 'add' && known === undefined) {
            const node = new Node(name, hashed(name));
            index.add(node);
            model.set(name, node);
          } else if (verb === 'remove' && known !== undefined) {
            index.remove(known);
            model.delete(name);
          } else if (verb === 'clear' && name === '0') {
            index.clear();
            model.clear();
          }
          expect(index.size).toBe(model.size);
          expect(index.get(name, hashed(name))).toBe(model.get(name));
        }
        expect(index.values()).toEqual([...model.values()]);
      }),
    );
  });
});

describe('hashOf', () => {
  it('should spread ids that are alike', () => {
    for (const names of [ids(4096), ids(4096).map((id) => `${id}/some/longer/path`), ids(4096).map((id) => id.padStart(40, '0'))]) {
      const buckets = new Uint8Array(4096);
      for (const name of names) buckets[hashOf(name) & 4095]!++;
      expect(Math.max(...buckets)).toBeLessThan(12);
    }
  });

  it('should fit where V8 keeps small integers', () => {
    fc.assert(fc.property(fc.string(), (id) => hashOf(id) >= 0 && hashOf(id) < 2 ** 30));
  });
});
