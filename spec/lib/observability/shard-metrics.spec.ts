import { NEVER, of, Subject } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { noopLogger, noopStream, recordMetrics, type ShardChange } from 'kreconciler';
import { controlled } from '../../support/controlled.js';
import { deferred } from '../../support/deferred.js';
import { meteredSdk, series, total } from '../../support/metered.js';
import { idsIn, ShardsStandIn } from '../../support/shards-stand-in.js';

const [id0 = ''] = idsIn(0, 4);

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date'] });
});
afterEach(() => {
  vi.useRealTimers();
});

describe('The metrics of shards', () => {
  it('should tell how many are owned and how many nobody has, what moved, and how long it was held on to', async () => {
    const { provider, collect } = meteredSdk();
    const engine = new ShardsStandIn(4);
    const member = engine.member();
    const running = deferred();
    const { controller } = controlled(
      () => running.promise,
      { ids: of(id0), noopStream },
      { name: 'zones', shards: Object.assign(member, { unowned: of(1) }), observability: { logger: noopLogger, meterProvider: provider } },
    );
    const stop = new AbortController();
    const run = controller.run(stop.signal);
    member.grant(0, 1, 2);
    member.lose(1);
    member.revoke(2);
    member.revoke(0);
    const before = await collect();
    expect(series(before, 'kreconciler_shards_owned')).toEqual([{ attributes: { controller: 'zones' }, value: 0 }]);
    expect(total(before, 'kreconciler_shards_unowned')).toBe(1);
    expect(before.has('kreconciler_leader') && series(before, 'kreconciler_leader').length > 0).toBe(false);
    const moves = (metrics: typeof before) =>
      ['acquired', 'freed', 'lost'].map((move) => total(metrics, 'kreconciler_shard_move_count', { move }));
    expect(moves(before)).toEqual([3, 1, 1]);
    await vi.advanceTimersByTimeAsync(700);
    running.resolve();
    await vi.advanceTimersByTimeAsync(0);
    member.grant(3);
    const after = await collect();
    expect(moves(after)).toEqual([4, 2, 1]);
    expect(total(after, 'kreconciler_shards_owned')).toBe(1);
    expect(after.get('kreconciler_shard_hand_over_millis')?.dataPoints).toMatchObject([{ value: { count: 2, sum: 700 } }]);
    stop.abort();
    await run;
    const end = await collect();
    expect(moves(end)).toEqual([4, 3, 1]);
    expect(total(end, 'kreconciler_shard_hand_over_millis')).toBe(3);
    expect([total(end, 'kreconciler_shards_owned'), total(end, 'kreconciler_shards_unowned')]).toEqual([0, 0]);
  });

  it('should be none where there are no shards, and not end a loop whose changes fail', async () => {
    const { meter, collect } = meteredSdk();
    const changes = new Subject<ShardChange>();
    const errors: unknown[] = [];
    NEVER.pipe(recordMetrics({ meter })).subscribe();
    NEVER.pipe(recordMetrics({ meter, name: 'zones', shards: changes })).subscribe({ error: (error: unknown) => errors.push(error) });
    changes.next({ kind: 'acquired', shard: 0 });
    changes.error(new Error('odd'));
    const metrics = await collect();
    expect(series(metrics, 'kreconciler_shards_owned')).toEqual([{ attributes: { controller: 'zones' }, value: 1 }]);
    expect(series(metrics, 'kreconciler_shards_unowned')).toEqual([]);
    expect(errors).toEqual([]);
    expect(() => recordMetrics({ shards: 7 as never })).toThrow('Expected `shards` to be an Observable, promise or iterable, got `7`');
  });
});
