import { Subject } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { constant, Controller, type Step, type Trigger } from 'kreconciler';
import { controlled } from '../support/controlled.js';
import { deferred } from '../support/deferred.js';

const working = { leaderElectionEnabled: false };

beforeEach(() => {
  vi.useFakeTimers({ now: 1_000 });
});
afterEach(() => {
  vi.useRealTimers();
});

/** A loop whose `pear` always fails. */
function orchard(config: object = {}) {
  const changes = new Subject<string>();
  const parts = controlled(
    (id) => {
      if (id === 'pear') throw new Error('rotten');
    },
    { changes },
    { ...working, backoff: constant(1_000), ...config },
  );
  void parts.controller.run();
  return { ...parts, changes };
}

const kindsOf = (history: readonly Step[] | undefined): string[] | undefined => history?.map(({ kind }) => kind);

describe('Controller.inspectId', () => {
  it('should have the last steps of an id that is not idle, without their triggers', () => {
    const { controller, changes, steps } = orchard();
    changes.next('pear');
    vi.advanceTimersByTime(1_500);
    const told = steps.map(({ trigger, ...step }) => ({ ...step, ...(trigger !== undefined && { stream: 'changes' }) }));
    expect(controller.inspectId('pear')).toMatchObject({ id: 'pear', state: 'waiting', attempt: 3, failures: 2 });
    expect(controller.inspectId('pear')?.history).toEqual(told);
    expect(controller.inspect().ids[0]?.history).toEqual(told);
  });

  it('should say of each event from which stream it came, if from any', () => {
    const run = deferred();
    const streams = { files: new Subject<string>(), resync: new Subject<Trigger>() };
    const { controller } = controlled(() => run.promise, streams, working);
    void controller.run();
    const toldOf = (id: string) => controller.inspectId(id)?.history.map(({ kind, stream }) => `${kind} by ${stream ?? '-'}`);
    streams.files.next('busy');
    expect(toldOf('busy')).toEqual(['enqueued by files', 'started by -']);
    streams.files.next('apple');
    expect(toldOf('apple')).toEqual(['enqueued by files']);
    streams.resync.next({ id: 'apple', message: {} });
    void controller.reconcile('apple').catch(() => undefined);
    expect(toldOf('apple')).toEqual(['enqueued by files', 'merged by resync', 'merged by -']);
    void controller.reconcile('pear').catch(() => undefined);
    expect(toldOf('pear')).toEqual(['enqueued by -']);
    controller.pause('apple');
    streams.resync.next({ id: 'apple', force: true });
    expect(toldOf('apple')?.slice(3)).toEqual(['paused by -', 'rejected by resync']);
    controller.discard('apple');
    expect(toldOf('apple')?.slice(5)).toEqual(['dropped by -']);
    controller.discard('pear');
    expect(toldOf('pear')).toEqual(['enqueued by -', 'dropped by -']);
  });

  it('should have those of an id that is idle again, and that it is paused', () => {
    const { controller, changes } = orchard();
    changes.next('apple');
    controller.pause('apple', 'ripening');
    expect(controller.inspectId('apple')).toEqual({ id: 'apple', state: 'idle', paused: { since: 1_000, why: 'ripening' } });
    expect(kindsOf(controller.inspectId('apple')?.history)).toEqual(['enqueued', 'started', 'succeeded', 'paused']);
    changes.next('apple');
    expect(kindsOf(controller.inspectId('apple')?.history)).toEqual(['enqueued', 'started', 'succeeded', 'paused', 'merged']);
  });

  it('should know nothing of an id that never was, nor of one that 1,000 others have followed', () => {
    const { controller, changes } = orchard();
    expect(controller.inspectId('apple')).toBeUndefined();
    changes.next('apple');
    for (let i = 0; i < 999; i++) changes.next(`plum-${i}`);
    expect(controller.inspectId('apple')).toBeDefined();
    changes.next('fig');
    expect(controller.inspectId('apple')).toBeUndefined();
  });

  it('should remember as many steps as config.history says, and none for 0', () => {
    const { controller, changes } = orchard({ history: 2 });
    changes.next('pear');
    expect(kindsOf(controller.inspectId('pear')?.history)).toEqual(['started', 'requeued']);
    const none = orchard({ history: 0 });
    none.changes.next('pear');
    none.changes.next('apple');
    expect([none.controller.inspectId('pear')?.history, none.controller.inspectId('apple')]).toEqual([[], undefined]);
  });

  it.each([-1, 1.5, NaN, Infinity, '20', null])('should not take %j for config.history', (history) => {
    expect(() => new Controller({ history: history as number }, () => undefined, {})).toThrow(
      /^Expected `history` to be an integer >= 0, got /,
    );
  });

  it('F2 should keep nothing alive that an event carried', async () => {
    const { controller, changes } = orchard();
    (changes as Subject<unknown>).next({ id: 'apple', message: {}, context: {} });
    changes.next('pear');
    (changes as Subject<unknown>).next({ id: 'pear', message: {}, context: {} });
    for (const { history } of [controller.inspectId('apple')!, controller.inspectId('pear')!]) {
      for (const step of history) expect(step).not.toHaveProperty('trigger');
    }
  });
});

describe('Controller.inspect', () => {
  it('should count without ids what it counts with them', () => {
    const { controller, changes } = orchard();
    changes.next('pear');
    controller.pause();
    changes.next('apple');
    controller.pause('fig');
    const { ids, pausedIds, ...counts } = controller.inspect();
    expect([ids.length, Object.keys(pausedIds!)]).toEqual([2, ['fig']]);
    expect(controller.inspect({ ids: false })).toEqual({ ...counts, pausedIds: 1 });
    expect(() => controller.inspect({ ids: 1 as never })).toThrow('Expected `ids` to be a boolean, got `1` (number)');
  });
});

describe('Controller.inspectIds', () => {
  it('should give all ids once, by pages and in order, with the total', async () => {
    const { controller, changes } = orchard({ workerCount: 3 });
    controller.pause();
    for (let i = 0; i < 25; i++) changes.next(`plum-${i}`);
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const { ids, total, next } = await controller.inspectIds({ limit: 10, cursor });
      expect(total).toBe(25);
      seen.push(...ids.map(({ id }) => id));
      cursor = next;
    } while (cursor !== undefined);
    expect(seen).toEqual(Array.from({ length: 25 }, (_, i) => `plum-${i}`).sort());
  });

  it('should filter by state and by what is in the id', async () => {
    const { controller, changes } = orchard();
    controller.pause('fig', 'ripening');
    for (const id of ['pear', 'apple']) changes.next(id);
    controller.pause();
    for (const id of ['plum', 'peach']) changes.next(id);
    const found = async (config: object) => (await controller.inspectIds(config)).ids.map(({ id }) => id);
    expect(await found({ state: 'failing' })).toEqual(['pear']);
    expect(await found({ state: 'paused' })).toEqual(['fig']);
    expect(await found({ state: 'waiting', search: 'p' })).toEqual(['peach', 'pear', 'plum']);
    expect(await found({ state: 'running' })).toEqual([]);
    expect(await found({ search: 'ea' })).toEqual(['peach', 'pear']);
  });

  it('should name the id that has not converged for longest, and since when', async () => {
    const { controller, changes } = orchard({ cooldown: 500 });
    const oldest = async () => (await controller.inspectIds()).oldest;
    changes.next('apple');
    expect(await oldest()).toBeUndefined();
    changes.next('pear');
    vi.advanceTimersByTime(2_000);
    controller.pause('fig');
    changes.next('fig');
    expect(await oldest()).toEqual({ id: 'pear', since: 1_000 });
    controller.discard('pear');
    changes.next('plum');
    changes.next('plum');
    expect(await oldest()).toEqual({ id: 'plum', since: 3_000 });
    controller.pause();
    expect(await oldest()).toBeUndefined();
  });

  it.each([
    [{ state: 'sleeping' }, 'Expected `state` to be '],
    [{ search: 1 }, 'Expected `search` to be a string, got `1` (number)'],
    [{ cursor: 1 }, 'Expected `cursor` to be a string, got `1` (number)'],
    [{ limit: 0 }, 'Expected `limit` to be an integer from 1 to 1000, got `0` (number)'],
    [{ limit: 1001 }, 'Expected `limit` to be an integer from 1 to 1000, got `1001` (number)'],
    [null, 'Expected `config` to be '],
  ])('should not take %j', async (config, message) => {
    const { controller } = orchard();
    await expect(controller.inspectIds(config as never)).rejects.toThrow(message);
  });
});
