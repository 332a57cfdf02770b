import { Controller, type EventStream, perShard, resync, type ResyncConfig } from 'kreconciler';
import { filter, NEVER, of } from 'rxjs';

/* Laws that `tsc` checks; nothing here runs. */

/* A stream may say one event or several in one go, and come from whatever `from` takes. */
export const streams = {
  boot: Promise.resolve(['apple', 'pear']),
  pages: () => of('apple', [{ id: 'pear' }, 'plum'] as const, { id: 'quince', message: 7 }),
  generated: async function* () {
    yield 'apple';
    yield ['pear'];
  },
  never: NEVER,
  nothing: () => Promise.reject(new Error('no')),
} satisfies Record<string, EventStream>;

/* A string is none: it would be taken for a list of its letters. */
// @ts-expect-error -- a string
export const letters: EventStream = 'apple';
// @ts-expect-error -- a function that returns one
export const returned: EventStream = () => 'apple';
// @ts-expect-error -- a list that is one
export const list: ResyncConfig['list'] = () => 'apple';
export const lists: ResyncConfig['list'][] = [() => ['apple'], () => of('apple', ['pear']), async () => ['apple']];

export const controller = new Controller({}, () => undefined, streams);

/* A function may ask what is owned, or leave it. */
export const sharded = {
  all: (_, { acquired }) => resync({ every: 1_000, list: () => ['apple'], relistOn: acquired }),
  some: (_, { owns }) => of('apple').pipe(filter(owns)),
  messages: perShard(async function* (shard: number, signal: AbortSignal) {
    if (!signal.aborted) yield { id: String(shard) };
  }),
} satisfies Record<string, EventStream>;
export const replica = new Controller(
  { shards: { count: 4, holdings: NEVER } },
  (id, { shard = 0, term = 0 }) => (id === 'apple' ? { requeueDelay: shard + term } : undefined),
  sharded,
);
