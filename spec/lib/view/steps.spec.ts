import { NEVER } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Controller } from 'kreconciler';
import { view } from 'kreconciler/view';
import { ORIGIN, viewed } from '../../support/viewing.js';

beforeEach(() => {
  vi.useFakeTimers({ now: 1_000_000 });
});
afterEach(() => {
  vi.useRealTimers();
});

/** What a reader of the stream has got so far, when he reads all there is. */
function reading(response: Response) {
  const reader = response.body!.getReader();
  const decoder = new TextDecoder();
  const got = { text: '', isOver: false };
  void (async () => {
    for (let part = await reader.read(); !part.done; part = await reader.read()) got.text += decoder.decode(part.value as Uint8Array);
    got.isOver = true;
  })();
  return {
    got,
    reader,
    /** The data of the events without a name, or with this one. */
    data: (event?: string) =>
      got.text
        .split('\n\n')
        .map((block) => block.split('\n'))
        .filter((lines) => lines.find((line) => line.startsWith('event: '))?.slice(7) === event)
        .flatMap((lines) => lines.filter((line) => line.startsWith('data: ')).map((line) => JSON.parse(line.slice(6)) as object)),
  };
}

const tick = (ms = 100): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

describe('GET api/NAME/steps', () => {
  it('should send each step as JSON, without what its event carried', async () => {
    const { changes, get } = viewed();
    const response = await get('/api/orchard/steps');
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    const { data } = reading(response);
    changes.next({ id: 'pear\n\nevent: end', message: 'secret' });
    await tick();
    expect(data()).toMatchObject([
      { kind: 'enqueued', id: 'pear\n\nevent: end', stream: 'changes', reason: 'event' },
      { kind: 'started', attempt: 1, streams: ['changes'] },
      { kind: 'succeeded' },
    ]);
    expect(JSON.stringify(data())).not.toContain('secret');
    expect(data('end')).toEqual([]);
  });

  it('V3 should take samples of what is too much to follow, and say how much it left out', async () => {
    const { changes, get } = viewed();
    const { data } = reading(await get('/api/orchard/steps'));
    for (let i = 0; i < 1_000; i++) changes.next(`apple-${i}`);
    await tick();
    expect(data()).toHaveLength(25);
    expect(data('missed')).toEqual([{ count: 3_000 - 25 }]);
  });

  it('should say that it is still there, and when the loop has ended', async () => {
    const { get, stop, run } = viewed();
    const { got, data } = reading(await get('/api/orchard/steps'));
    await tick(30_000);
    expect(got.text.match(/^: still here$/gm)).toHaveLength(2);
    stop.abort();
    await run;
    await tick(0);
    expect([data('end'), got.isOver]).toEqual([[{}], true]);
    const late = reading(await get('/api/orchard/steps'));
    await tick(0);
    expect([late.data('end'), late.got.isOver]).toEqual([[{}], true]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('V3 should hold a bounded number of bytes for one who never reads, and tell him later what he has missed', async () => {
    const { changes, get } = viewed();
    const response = await get('/api/orchard/steps');
    const reader = response.body!.getReader();
    for (let round = 0; round < 1_000; round++) {
      for (let i = 0; i < 25; i++) changes.next(`apple-${i}`);
      await tick();
    }
    let text = '';
    for (let left = 10_000; left > 0 && !text.includes('event: missed\ndata: {"count":7'); left--) {
      if (left % 100 === 0) {
        changes.next('pear');
        await tick();
      }
      const part = await Promise.race([reader.read(), tick(200).then(() => undefined)]);
      text += new TextDecoder().decode(part?.value as Uint8Array | undefined);
    }
    expect(text.length).toBeLessThan(100_000);
    const missed = [...text.matchAll(/event: missed\ndata: \{"count":(\d+)\}/g)].reduce((sum, [, count]) => sum + Number(count), 0);
    const told = text.match(/"kind":/g)!.length;
    expect(missed + told).toBeGreaterThan(74_000);
  });

  it('V3 should listen to the loop while somebody reads, and be gone with the last one, however he goes', async () => {
    const { fetched, changes } = viewed();
    const gone = new AbortController();
    const ask = (signal?: AbortSignal) => fetched(new Request(`${ORIGIN}/admin/api/orchard/steps`, signal === undefined ? {} : { signal }));
    const [first, second] = [reading(await ask(gone.signal)), reading(await ask())];
    changes.next('apple');
    await tick(50);
    gone.abort();
    await tick(50);
    expect([first.data(), second.data().length]).toEqual([[], 3]);
    changes.next('apple');
    await second.reader.cancel();
    changes.next('apple');
    expect(vi.getTimerCount()).toBe(0);
    const third = reading(await ask());
    await tick();
    expect(third.data()).toEqual([]);
  });

  it('V3 should serve a thousand readers, encode each step once for them, and turn away the millionth', async () => {
    const { changes, get } = viewed();
    const readers = [];
    for (let i = 0; i < 1_000; i++) readers.push(reading(await get('/api/orchard/steps')));
    const stringify = vi.spyOn(JSON, 'stringify');
    changes.next('apple');
    await tick();
    expect(stringify.mock.calls.filter(([value]) => (value as { id?: string }).id === 'apple')).toHaveLength(3);
    stringify.mockRestore();
    for (const { data } of readers) expect(data()).toHaveLength(3);
    for (let i = 0; i < 1_000; i++) await get('/api/orchard/steps');
    const refused = await get('/api/orchard/steps');
    expect([refused.status, await refused.json()]).toEqual([503, { error: 'Too many read the steps' }]);
  });

  it('should end at once for a loop that has ended before anybody looked', async () => {
    const controller = new Controller({ leaderElectionEnabled: false }, () => NEVER, {});
    await controller.run();
    const { got, data } = reading(await view({ controller })(new Request(`${ORIGIN}/api/controller/steps`)));
    await tick(0);
    expect([data('end'), got.isOver]).toEqual([[{}], true]);
  });
});

it('V3 should look at all ids for one asker after the other, for those who ask alike but once, and for no more than a hundred', async () => {
  const { controller, get } = viewed();
  const look = vi.spyOn(controller, 'inspectIds');
  const alike = Array.from({ length: 500 }, () => get('/api/orchard/ids?search=a'));
  const others = Array.from({ length: 150 }, (_, i) => get(`/api/orchard/ids?search=${i}`));
  const statuses = (await Promise.all([...alike, ...others])).map(({ status }) => status);
  expect(new Set(statuses.slice(0, 500))).toEqual(new Set([200]));
  expect(statuses.filter((status) => status === 503)).toHaveLength(51);
  expect(look).toHaveBeenCalledTimes(100);
});
