import { concatMap, firstValueFrom, from, toArray } from 'rxjs';
import { describe, expect, it, vi } from 'vitest';
import { type IdList, listIds } from '../../lib/list-ids.js';
import { Clock } from '../support/clock.js';
import { deferred } from '../support/deferred.js';
import { logged } from '../support/logged.js';

const message = 'A list of all ids that was let go is still going on, and ignores its signal: the next list waits for its end';

function listing(list: (signal: AbortSignal) => IdList, timeout = 1_000) {
  const clock = new Clock();
  const { logger, lines } = logged();
  return { clock, lines, ids: listIds({ list, timeout, scheduler: clock, logger }) };
}

describe('listIds', () => {
  it('should unpack batches', () => {
    const seen: string[] = [];
    listing(() => ['apple', ['pear', 'plum'], [], 'quince']).ids.subscribe((id) => seen.push(id));
    expect(seen).toEqual(['apple', 'pear', 'plum', 'quince']);
  });

  it.each<[string, (odd: readonly unknown[]) => unknown]>([
    ['at once', (odd) => odd],
    ['by a promise', (odd) => Promise.resolve(odd)],
    ['one by one', (odd) => from(odd)],
    ['by an async iterable', (odd) => from(odd).pipe(concatMap((one) => Promise.resolve(one)))],
  ])('Q4 should pass on what is no id, %s', async (_, list) => {
    const odd = ['apple', null, undefined, 5, '', { id: 'pear' }, () => undefined, 'plum'];
    const { ids } = listing(() => list(odd) as IdList);
    expect(await firstValueFrom(ids.pipe(toArray()))).toEqual(odd);
  });

  it.each<[string, unknown, string]>([
    ['a string, whose letters are no ids', 'apple', '`apple` (string)'],
    ['a number', 5, '`5` (number)'],
    ['nothing', undefined, '`undefined`'],
  ])('should refuse %s by name', (_, list, shown) => {
    const failures: unknown[] = [];
    listing(() => list as IdList).ids.subscribe({ error: (error: unknown) => failures.push(error) });
    const expected = `Expected \`list\` to be a function that returns an Observable, promise or iterable of ids, got ${shown}`;
    expect(failures).toEqual([new TypeError(expected)]);
  });

  it('F3 should hold the next list back while one that is over time goes on, and tell so once', async () => {
    const hung = deferred<string[]>();
    const list = vi.fn<(signal: AbortSignal) => IdList>(() => hung.promise);
    const { ids, clock, lines } = listing(list);
    const failures: unknown[] = [];
    ids.subscribe({ error: (error: unknown) => failures.push(error) });
    clock.advance(1_000);
    expect(failures).toEqual([new Error('Listing all ids took longer than 1000 ms')]);
    expect(list.mock.calls[0]?.[0].aborted).toBe(true);

    const seen: string[] = [];
    list.mockImplementation(() => ['apple']);
    ids.subscribe((id) => seen.push(id));
    clock.advance(60_000);
    expect(list).toHaveBeenCalledOnce();
    expect(lines).toEqual([['warn', message, {}]]);
    hung.resolve([]);
    await new Promise(setImmediate);
    expect(seen).toEqual(['apple']);
  });

  it('F3 should say nothing of a list that heeds its signal', async () => {
    const list = (signal: AbortSignal): Promise<string[]> =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => {
          reject(new Error('aborted'));
        });
      });
    const { ids, clock, lines } = listing(vi.fn(list));
    ids.subscribe().unsubscribe();
    const second = ids.subscribe();
    await new Promise(setImmediate);
    clock.advance(999);
    second.unsubscribe();
    expect(lines).toEqual([]);
  });

  it('F3 should keep no timer and call no list for whoever lets go while it is held back', async () => {
    const hung = deferred<string[]>();
    const list = vi.fn(() => hung.promise);
    const { ids, clock } = listing(list);
    ids.subscribe().unsubscribe();
    ids.subscribe().unsubscribe();
    expect(clock.actions).toEqual([]);
    hung.resolve([]);
    await new Promise(setImmediate);
    expect(list).toHaveBeenCalledOnce();
  });
});
