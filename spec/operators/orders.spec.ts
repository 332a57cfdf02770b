import fc from 'fast-check';
import { byPriority, fair, fifo, type ReadyItem, type ReadyQueue } from 'kreconciler/operators';
import { describe, expect, it } from 'vitest';

const item = (id: string, priority = 0, since = 0): ReadyItem => ({ id, priority, since });
const push = (queue: ReadyQueue, ...items: readonly ReadyItem[]): ReadyQueue => {
  for (const each of items) queue.push(each);
  return queue;
};
/** Takes all there are, each of whose runs ends at once. */
const drained = (queue: ReadyQueue): string[] => {
  const ids: string[] = [];
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    ids.push(next.id);
    queue.ended(next);
  }
  return ids;
};

describe.each<[string, () => ReadyQueue]>([
  ['fifo', fifo],
  ['byPriority', byPriority()],
  ['byPriority without ageing', byPriority({ ageing: Infinity })],
  ['fair', fair({ key: (id) => id.split('/')[0] as string })],
  ['fair within fair, by priority', fair({ key: (id) => id.slice(0, 1), within: fair({ key: (id) => id, within: byPriority() }) })],
])('%s', (_, order) => {
  it('should give nothing when there is nothing', () => {
    expect(order().shift()).toBeUndefined();
  });

  it('should be first come, first served among equals', () => {
    expect(drained(push(order(), item('web'), item('wiki'), item('www')))).toEqual(['web', 'wiki', 'www']);
  });

  it('should give each item once, but those that were removed, whatever happens', () => {
    const does = fc.oneof(
      fc.record({
        does: fc.constant('push'),
        id: fc.constantFrom('web/1', 'web/2', 'mail/1', 'dns/1'),
        priority: fc.integer({ min: -3, max: 3 }),
        since: fc.nat(100),
      }),
      fc.record({ does: fc.constant('shift') }),
      fc.record({ does: fc.constant('remove'), which: fc.nat(9) }),
      fc.record({ does: fc.constant('end'), which: fc.nat(9) }),
    );
    fc.assert(
      fc.property(fc.array(does, { maxLength: 60 }), (commands) => {
        const queue = order();
        const ready = new Set<ReadyItem>();
        const running = new Set<ReadyItem>();
        for (const command of commands) {
          if (command.does === 'push') {
            const { id, priority, since } = command;
            const pushed = item(id, priority, since);
            ready.add(pushed);
            queue.push(pushed);
          } else if (command.does === 'shift') {
            const given = queue.shift();
            expect(given === undefined ? ready.size === 0 : ready.delete(given)).toBe(true);
            if (given !== undefined) running.add(given);
          } else if (command.does === 'remove') {
            const removed = [...ready][command.which % ready.size];
            if (removed !== undefined && ready.delete(removed)) queue.remove(removed);
          } else {
            const over = [...running][command.which % running.size];
            if (over !== undefined && running.delete(over)) queue.ended(over);
          }
        }
        for (const over of running) queue.ended(over);
        expect(drained(queue)).toHaveLength(ready.size);
      }),
    );
  });
});

describe('byPriority', () => {
  it('W3 should give the more urgent first', () => {
    expect(drained(push(byPriority()(), item('resync', -1), item('user', 10), item('feed'), item('admin', 10)))).toEqual([
      'user',
      'admin',
      'feed',
      'resync',
    ]);
  });

  it('W3 should let one that waits gain a priority with each `ageing`, and then none that comes later before it', () => {
    const queue = push(byPriority({ ageing: 100 })(), item('patient', 0, 0), item('urgent', 2, 199), item('too late', 2, 201));
    expect(drained(queue)).toEqual(['urgent', 'patient', 'too late']);
  });

  it('W3 should let those with equal claims run in the order in which they came', () => {
    expect(drained(push(byPriority({ ageing: 100 })(), item('first', 0, 0), item('second', 1, 100), item('third', 2, 200)))).toEqual([
      'first',
      'second',
      'third',
    ]);
  });

  it('W3 should not let a low priority gain anything without ageing', () => {
    expect(drained(push(byPriority({ ageing: Infinity })(), item('low', -1, 0), item('ordinary', 0, 1e9)))).toEqual(['ordinary', 'low']);
  });

  it('T4 should not let those pass that come after the clock was set back', () => {
    expect(drained(push(byPriority()(), item('before', 0, 3_600_000), item('after', 0, 0), item('later', 0, 1)))).toEqual([
      'before',
      'after',
      'later',
    ]);
  });

  it.each([NaN, Infinity, -Infinity])('should take a priority of %s for 0', (odd) => {
    expect(drained(push(byPriority()(), item('odd', odd), item('ordinary'), item('urgent', 1)))).toEqual(['urgent', 'odd', 'ordinary']);
  });

  it.each([0, -1, NaN, '5'])('should refuse an ageing of %s', (ageing) => {
    expect(() => byPriority({ ageing: ageing as number })).toThrow(/Expected `ageing` to be a number of ms > 0, got /);
  });
});

describe('fair', () => {
  const tenant = (id: string): string => id.split('/')[0] as string;
  const ids = (...all: readonly string[]): ReadyItem[] => all.map((id) => item(id));

  it('W3 should let the keys take turns, so that a crowd delays another by one run', () => {
    const crowd = Array.from({ length: 1000 }, (_, i) => `acme/${i}`);
    const queue = push(fair({ key: tenant })(), ...ids(...crowd), ...ids('zoo/web', 'zoo/mail'));
    expect(drained(queue).slice(0, 5)).toEqual(['acme/0', 'zoo/web', 'acme/1', 'zoo/mail', 'acme/2']);
  });

  it('W3 should let `concurrency` ids of a key run, and hold no other back meanwhile', () => {
    const queue = push(fair({ key: tenant, concurrency: 1 })(), ...ids('acme/1', 'acme/2', 'zoo/1'));
    const first = queue.shift();
    expect(first?.id).toBe('acme/1');
    expect(queue.shift()?.id).toBe('zoo/1');
    expect(queue.shift()).toBeUndefined();
    queue.ended(first!);
    expect(queue.shift()?.id).toBe('acme/2');
  });

  it('W3 should order the ids of a key as `within` says', () => {
    const queue = push(fair({ key: tenant, within: byPriority() })(), item('acme/1'), item('acme/2', 5), item('zoo/1'));
    expect(drained(queue)).toEqual(['acme/2', 'zoo/1', 'acme/1']);
  });

  it.each<[string, (id: string) => string]>([
    [
      'throws',
      () => {
        throw new Error('no');
      },
    ],
    ['answers no string', () => 5 as unknown as string],
  ])('W3 should take a key function that %s for one key', (_, key) => {
    const queue = push(fair({ key, concurrency: 1 })(), ...ids('web', 'mail'));
    expect(queue.shift()?.id).toBe('web');
    expect(queue.shift()).toBeUndefined();
  });

  it.each([
    [{}, 'Expected `key` to be a function, got `undefined`'],
    [{ key: tenant, concurrency: 0 }, 'Expected `concurrency` to be an integer >= 1 or Infinity, got `0` (number)'],
    [{ key: tenant, within: 5 }, 'Expected `within` to be a function, got `5` (number)'],
  ])('should refuse %o', (config, message) => {
    expect(() => fair(config as never)).toThrow(new TypeError(message));
  });
});
