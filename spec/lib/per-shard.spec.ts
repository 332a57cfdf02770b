import { concat, NEVER, Observable, of, Subject, throwError } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { type Controller, type EventStream, perShard, type Trigger } from 'kreconciler';
import { controlled } from '../support/controlled.js';
import { ran } from '../support/readmes.js';
import { idsIn, ShardsStandIn } from '../support/shards-stand-in.js';

const COUNT = 4;
const [id0 = ''] = idsIn(0, COUNT);
const [id1 = ''] = idsIn(1, COUNT);

function running(streams: Record<string, EventStream>) {
  const engine = new ShardsStandIn(COUNT);
  const member = engine.member();
  const stop = new AbortController();
  const loop = controlled(() => undefined, streams, { shards: member });
  const run = loop.controller.run(stop.signal);
  run.catch(() => undefined);
  return { ...loop, engine, member, stop, run };
}

describe('perShard', () => {
  it('should listen to one source for each shard that is owned, and let it go before the shard', async () => {
    const log: string[] = [];
    const sources = [new Subject<string>(), new Subject<string>()];
    const signals: AbortSignal[] = [];
    const messages = perShard((shard, signal) => {
      signals[shard] = signal;
      return new Observable<string>((subscriber) => {
        log.push(`open ${shard}`);
        subscriber.add(() => log.push(`close ${shard}, ${engine.log.at(-1)}`));
        return sources[shard]?.subscribe(subscriber);
      });
    });
    const { engine, member, kinds, stop, run } = running({ messages });
    member.grant(0, 1);
    sources[0]?.next(id0);
    sources[1]?.next(id1);
    expect([kinds(id0), kinds(id1)]).toEqual([
      ['enqueued', 'started', 'succeeded'],
      ['enqueued', 'started', 'succeeded'],
    ]);
    member.revoke(0);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
    member.grant(0);
    member.lose(0, 1);
    member.grant(1);
    expect(log).toEqual(['open 0', 'open 1', 'close 0, join a', 'open 0', 'close 0, free a 0', 'close 1, free a 0', 'open 1']);
    stop.abort();
    await run;
    expect(log.at(-1)).toBe('close 1, leave a');
  });

  it('should take promises, iterables and several events in one, and not end with a source', async () => {
    const asked: number[] = [];
    const { controller, member, kinds, stop, run } = running({
      messages: perShard((shard) => {
        asked.push(shard);
        return shard === 0 ? Promise.resolve([id0, { id: id0 }]) : [id1];
      }),
    });
    member.grant(0, 1);
    await Promise.resolve().then(() => undefined);
    expect(kinds(id1)).toEqual(['enqueued', 'started', 'succeeded']);
    await new Promise((resolve) => setImmediate(resolve));
    expect(kinds(id0).filter((kind) => kind === 'started')).toHaveLength(2);
    expect([asked, controller.inspect().completed]).toEqual([[0, 1], undefined]);
    stop.abort();
    await run;
  });

  it('should fail the stream, and name it, if a source fails or is none', async () => {
    const { member, run } = running({ messages: perShard(() => throwError(() => new Error('no such subject'))) });
    member.grant(0);
    await expect(run).rejects.toThrow('Event stream `messages` failed: no such subject');
    const odd = running({ messages: perShard(() => 7 as never) });
    odd.member.grant(0);
    await expect(odd.run).rejects.toThrow('Expected `subscribe` to be a function that returns an Observable, promise or iterable, got `7`');
  });

  it('should refuse a Controller without shards, since it would hear nothing', async () => {
    const { controller } = controlled(
      () => undefined,
      { messages: perShard(() => concat(of('apple'), NEVER)) },
      { leaderElectionEnabled: false },
    );
    await expect(controller.run()).rejects.toThrow('Expected `config.shards` to be there for a stream that is made by `perShard`');
    expect(() => perShard(7 as never)).toThrow('Expected `subscribe` to be a function, got `7` (number)');
  });

  it('should be shown as it is used with a subject for each shard', async () => {
    const member = new ShardsStandIn(COUNT).member();
    const stop = new AbortController();
    const subjects: string[] = [];
    const reconciled: string[] = [];
    async function* messagesOf(subject: string, signal: AbortSignal): AsyncIterable<Trigger> {
      subjects.push(subject);
      yield { id: subject === 'orders.0' ? id0 : id1 };
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
    }
    const { controller } = await ran('per-shard', { owned: member, messagesOf, reconciler: (id: string) => void reconciled.push(id) }, [
      'controller',
    ]);
    const run = (controller as Controller).run(stop.signal);
    member.grant(0, 1);
    await new Promise((resolve) => setImmediate(resolve));
    expect([subjects, reconciled]).toEqual([
      ['orders.0', 'orders.1'],
      [id0, id1],
    ]);
    stop.abort();
    await run;
  });
});
