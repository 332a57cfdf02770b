import { asyncScheduler, firstValueFrom, timer } from 'rxjs';
import type { Entry } from '../operators/entry.js';
import { walkOf } from '../operators/id-index.js';
import { check, checkObject } from '../operators/check.js';
import type { Counts } from '../operators/snapshots.js';
import { unconvergedSince } from './unconverged-since.js';
import { type IdleId, type Inspected, type InspectedId, inspectId } from './inspect.js';

/** Which ids are wanted. */
export interface InspectIdsConfig {
  /** Those in this state; `'paused'`: those that are paused themselves, idle ones too; `'failing'`: whose last run failed. Default: all that are not idle. */
  readonly state?: keyof Counts | 'paused' | 'failing' | undefined;
  /** Those whose id has this in it, as it is written. Default: all. */
  readonly search?: string | undefined;
  /** Those that come after this id, as `next` of the page before says. Default: from the first. */
  readonly cursor?: string | undefined;
  /** At most so many; 1 to 1000. Default 50. */
  readonly limit?: number | undefined;
}

/** One page of ids, ordered by id: by UTF-16 units, as `<` does. */
export interface InspectedIds {
  readonly ids: readonly (InspectedId | IdleId)[];
  /** How many there are on all pages. */
  readonly total: number;
  /** The cursor of the next page, if there is one. */
  readonly next?: string;
  /** Which of all ids, whatever is asked for, has not converged for longest, and since when; what is paused does not count. */
  readonly oldest?: { readonly id: string; readonly since: number };
}

/** How many buckets are looked at before others get a turn: about a millisecond of work. */
const SLICE = 16_384;

const STATES = ['ready', 'running', 'waiting', 'abandoned', 'paused', 'failing'];

/** @throws TypeError that names the field, what was expected and what came */
export function checkInspectIds(config: InspectIdsConfig): InspectIdsConfig & { readonly search: string; readonly limit: number } {
  checkObject('config', config);
  const { state, search = '', cursor, limit = 50 } = config;
  check('state', state, STATES.map((name) => `'${name}'`).join(', '), state === undefined || STATES.includes(state));
  check('search', search, 'a string', typeof search === 'string');
  check('cursor', cursor, 'a string', cursor === undefined || typeof cursor === 'string');
  check('limit', limit, 'an integer from 1 to 1000', Number.isInteger(limit) && limit >= 1 && limit <= 1000);
  return { state, search, cursor, limit };
}

/**
 * A page of ids, with the number of all that match. All ids are looked at for it, a slice at a time, and whatever else there is to do
 * gets its turn in between. So an id that is not idle all the while is counted once; one that comes or goes meanwhile may be or not.
 */
export async function inspectIds(config: InspectIdsConfig, inspected: Inspected): Promise<InspectedIds> {
  const { state, search, cursor, limit } = checkInspectIds(config);
  const matches = (id: string): boolean => search === '' || id.includes(search);
  const found: Smallest[] = [];
  if (state === 'paused') {
    const some = new Smallest(limit + 1, cursor);
    found.push(some);
    let looked = 0;
    for (const id of inspected.notes.pauses.keys()) {
      if (matches(id)) some.offer(id);
      if (++looked % SLICE === 0) await turn();
    }
  } else {
    for (const queue of inspected.queues) {
      let some = new Smallest(limit + 1, cursor);
      const walk = walkOf(
        queue.entries,
        (entry) => {
          some.see(entry.id, unconvergedSince(entry, inspected));
          if (isIn(entry, state) && matches(entry.id)) some.offer(entry.id);
        },
        () => {
          some = new Smallest(limit + 1, cursor);
        },
      );
      while (!walk(SLICE)) await turn();
      found.push(some);
    }
  }
  const ids = found.flatMap((some) => some.ids).sort((a, b) => (a < b ? -1 : 1));
  const page = ids.slice(0, limit);
  const oldest = found.flatMap((some) => some.oldest ?? []).sort((a, b) => a.since - b.since)[0];
  return {
    ids: page.map((id) => inspectId(id, inspected)).filter((row) => row !== undefined),
    total: found.reduce((total, some) => total + some.total, 0),
    ...(ids.length > limit && { next: page.at(-1) as string }),
    ...(oldest !== undefined && { oldest }),
  };
}

function isIn({ state, hasFailed }: Readonly<Entry>, wanted: InspectIdsConfig['state']): boolean {
  return wanted === undefined || (wanted === 'failing' ? hasFailed : state === wanted);
}

/** The first `limit` ids after `cursor`, and how many there were on both sides of it. */
class Smallest {
  readonly ids: string[] = [];
  total = 0;
  /** Of all, wanted or not. */
  oldest: { readonly id: string; readonly since: number } | undefined;

  constructor(
    readonly limit: number,
    readonly cursor: string | undefined,
  ) {}

  see(id: string, since: number | undefined): void {
    if (since !== undefined && !(since >= (this.oldest?.since ?? Infinity))) this.oldest = { id, since };
  }

  offer(id: string): void {
    this.total++;
    if (this.cursor !== undefined && id <= this.cursor) return;
    const { ids } = this;
    if (ids.length === this.limit) {
      if (id >= (ids[this.limit - 1] as string)) return;
      ids.pop();
    }
    let low = 0;
    for (let high = ids.length; low < high;) {
      const middle = (low + high) >>> 1;
      if ((ids[middle] as string) < id) low = middle + 1;
      else high = middle;
    }
    ids.splice(low, 0, id);
  }
}

/** Of the event loop, not of a clock. */
function turn(): Promise<unknown> {
  return firstValueFrom(timer(0, asyncScheduler), { defaultValue: undefined });
}
