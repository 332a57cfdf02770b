/** A member as its engine shows it. */
export interface Member {
  /** Its session, which distinguishes it from the others and breaks ties. */
  readonly session: string;
  /** How many shards it holds, with those that it is about to free. */
  readonly held: number;
  /** Whether it has been there for `settle` ms: before that it may take, but nobody gives anything up for it. */
  readonly settled: boolean;
}

/** What one member knows when it balances. */
export interface Balancing {
  /** How many shards there are. */
  readonly count: number;
  /** The member that balances. */
  readonly session: string;
  /** All the other members. */
  readonly others: readonly Member[];
  /** The shards that nobody holds. */
  readonly free: readonly number[];
  /** What runs here, without what has been asked to go. It is counted from there, because the view of an engine may be late. */
  readonly holdings: readonly Held[];
}

/** A shard that runs here, and since which term. */
export interface Held {
  readonly shard: number;
  readonly term: number;
}

/** What one member does about its balance. */
export interface Moves {
  /** The shards to take, as far as they are still free. Whoever has taken something balances again at once. */
  readonly take: readonly number[];
  /** The shards to let go of. */
  readonly release: readonly number[];
}

/**
 * What one member is to take and to let go of, so that all come to hold the same number, give or take one. Each decides by
 * itself, and views may differ in age; that they agree rests on three rules:
 *
 * - Whoever holds more ranks higher, and keeps the one shard more that some must have; above what all may hold, ranks do not
 *   change by letting go.
 * - That one more is taken only when nobody is short of the rest, so that ranks do not change by taking, either.
 * - A newcomer is counted at once when it is about taking, and only once it has settled when it is about letting go: one
 *   that comes and goes moves nothing.
 *
 * The youngest terms go first: what has moved lately moves again, and the others stay.
 */
export function balance({ count, session, others, free, holdings }: Balancing): Moves {
  const self: Member = { session, held: holdings.length, settled: true };
  const members = [...others, self];
  const { floor, rank, quota } = shareOf(self, members, count);
  const isAnyoneShort = members.some(({ held }) => held < floor);
  const missing = Math.max(0, (isAnyoneShort ? floor : quota) - holdings.length);
  // Not all at the same place: others take at the same time.
  const first = free.length === 0 ? 0 : (rank * missing) % free.length;
  const surplus =
    holdings.length -
    shareOf(
      self,
      members.filter(({ settled }) => settled),
      count,
    ).quota;
  return {
    take: [...free.slice(first), ...free.slice(0, first)].slice(0, missing),
    release:
      surplus <= 0
        ? []
        : [...holdings]
            .sort(byAge)
            .slice(0, surplus)
            .map(({ shard }) => shard),
  };
}

/** How many shards `self` is to hold if `members` are all there are, and how many at least everyone. */
function shareOf(self: Member, members: readonly Member[], count: number) {
  const floor = Math.floor(count / members.length);
  const extras = count % members.length;
  const most = extras > 0 ? floor + 1 : floor;
  const isBefore = (a: Member, b: Member): boolean => {
    const [heldByA, heldByB] = [Math.min(a.held, most), Math.min(b.held, most)];
    return heldByA > heldByB || (heldByA === heldByB && a.session < b.session);
  };
  const rank = members.filter((member) => isBefore(member, self)).length;
  return { floor, rank, quota: rank < extras ? most : floor };
}

function byAge(a: Held, b: Held): number {
  return b.term - a.term || b.shard - a.shard;
}
