import { describe, expect, it } from 'vitest';
import { balance, type Balancing } from '../../../lib/shards/balance.js';
import { ShardsModel, times } from '../../support/shards-model.js';

/** A generator of numbers from 0 up to 1 that says the same for the same seed (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function anyOf<T>(values: Iterable<T>, random: () => number): T {
  const all = [...values];
  return all[Math.floor(random() * all.length)]!;
}

/** Somebody comes, goes, or dies; the last one stays. */
function change(model: ShardsModel, alive: Set<string>): void {
  const { random } = model;
  const kind =
    alive.size < 2 ? 'join' : alive.size > 8 ? anyOf(['leave', 'crash'], random) : anyOf(['join', 'join', 'leave', 'crash'], random);
  if (kind === 'join') {
    alive.add(model.join());
    return;
  }
  const session = anyOf(alive, random);
  alive.delete(session);
  if (kind === 'leave') model.leave(session);
  else model.crash(session);
}

function isBalanced(model: ShardsModel): boolean {
  const sizes = model.sizes();
  return !model.owners.includes(undefined) && Math.max(...sizes) - Math.min(...sizes) <= 1;
}

const SEEDS = Number(process.env['SEEDS'] ?? 300);

describe('balance, by each for itself', () => {
  it('H4 should come to rest within one shard of each other, whatever came and went before', () => {
    for (let seed = 0; seed < SEEDS; seed++) {
      const random = seeded(seed);
      const model = new ShardsModel(1 + Math.floor(random() * 40), random);
      const alive = new Set<string>();
      for (let changes = 0; changes < 8; changes++) {
        change(model, alive);
        model.pass(random() < 0.5 ? random() * 200 : random() * 4_000);
      }
      model.quiet();
      expect({ seed, sizes: model.sizes(), isBalanced: isBalanced(model) }).toMatchObject({ isBalanced: true });
      // And nothing moves any more.
      const moves = model.moves.length;
      model.pass(10 * times.retry);
      expect({ seed, moves: model.moves.length }).toEqual({ seed, moves });
    }
  });

  it('H4 should move no shard between two that stay when one comes, goes or dies', () => {
    for (let seed = 0; seed < SEEDS; seed++) {
      const random = seeded(seed);
      const model = new ShardsModel(1 + Math.floor(random() * 40), random);
      const alive = new Set<string>();
      for (let members = 1 + Math.floor(random() * 6); members > 0; members--) alive.add(model.join());
      model.quiet();
      for (let changes = 0; changes < 10; changes++) {
        const before = new Set(alive);
        const owners = [...model.owners];
        model.moves.length = 0;
        change(model, alive);
        model.quiet();
        const stay = (session: string | undefined) => session !== undefined && before.has(session) && alive.has(session);
        const between = model.moves.filter(({ shard, from, to }) => (stay(from) || stay(owners[shard])) && stay(to));
        expect({ seed, changes, isBalanced: isBalanced(model), between }).toEqual({ seed, changes, isBalanced: true, between: [] });
      }
    }
  });

  it('should move nothing for one that goes before it has settled', () => {
    for (let seed = 0; seed < 100; seed++) {
      const random = seeded(seed);
      const model = new ShardsModel(20, random);
      model.join();
      model.join();
      model.quiet();
      const owners = [...model.owners];
      const guest = model.join();
      model.pass(times.settle - 1);
      model.leave(guest);
      model.quiet();
      expect({ seed, owners: model.owners }).toEqual({ seed, owners });
    }
  });
});

/** Member `b` of `count` shards, which holds those given; the term of each is its number. */
function decides(count: number, shards: readonly number[], rest: Partial<Balancing>): ReturnType<typeof balance> {
  return balance({ count, session: 'b', others: [], free: [], holdings: shards.map((shard) => ({ shard, term: shard })), ...rest });
}

describe('balance', () => {
  const settled = true;
  it.each<[string, ReturnType<typeof balance>, ReturnType<typeof balance>]>([
    ['take everything where it is alone', decides(3, [], { free: [0, 1, 2] }), { take: [0, 1, 2], release: [] }],
    ['take only what is free', decides(3, [0], { free: [2] }), { take: [2], release: [] }],
    [
      'leave the others their part',
      decides(4, [0], { free: [1, 2, 3], others: [{ session: 'c', held: 0, settled }] }),
      { take: [1], release: [] },
    ],
    [
      'count a newcomer when it takes',
      decides(4, [0, 1], { free: [2, 3], others: [{ session: 'c', held: 0, settled: false }] }),
      { take: [], release: [] },
    ],
    [
      'keep what it has for a newcomer',
      decides(2, [0, 1], { others: [{ session: 'c', held: 0, settled: false }] }),
      { take: [], release: [] },
    ],
    [
      'let the youngest go for one that has settled',
      decides(4, [0, 3, 1, 2], { others: [{ session: 'c', held: 0, settled }] }),
      { take: [], release: [3, 2] },
    ],
    ['keep one more if it has one more', decides(3, [0, 1], { others: [{ session: 'a', held: 1, settled }] }), { take: [], release: [] }],
    [
      'keep one more if its session comes first',
      decides(5, [0, 1, 2, 3], { others: [{ session: 'c', held: 4, settled }] }),
      { take: [], release: [3] },
    ],
    [
      'take one more if its session comes first',
      decides(3, [0], { free: [2], others: [{ session: 'c', held: 1, settled }] }),
      { take: [2], release: [] },
    ],
    [
      'leave one more to one whose session comes first',
      decides(3, [0], { free: [2], others: [{ session: 'a', held: 1, settled }] }),
      { take: [], release: [] },
    ],
    [
      'leave one more where it is as long as anybody is short of less',
      decides(7, [0, 1], {
        free: [5, 6],
        others: [
          { session: 'c', held: 2, settled },
          { session: 'd', held: 1, settled },
        ],
      }),
      { take: [], release: [] },
    ],
    [
      'hold nothing but one where there are more members than shards',
      decides(1, [], { free: [0], others: [{ session: 'c', held: 0, settled }] }),
      { take: [0], release: [] },
    ],
    [
      'take nothing where those before it hold what there is',
      decides(1, [], { free: [0], others: [{ session: 'a', held: 0, settled }] }),
      { take: [], release: [] },
    ],
  ])('should %s', (_, moves, expected) => {
    expect(moves).toEqual(expected);
  });

  it('should begin elsewhere than the others do', () => {
    const free = [0, 1, 2, 3, 4, 5];
    const others = ['a', 'c'].map((session) => ({ session, held: 0, settled }));
    expect(decides(6, [], { free, others })).toEqual({ take: [2, 3], release: [] });
  });
});
