import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { acknowledge, Controller, type EventStream, noopLogger, observability, ofKind, type Reconciler, TerminalError } from 'kreconciler';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { gate } from '../support/gate.js';
import { answers } from './answers.js';
import { type Client, client } from './connection.js';
import { published } from './published.js';
import { redis } from './server.js';
import { type Delivery, streamGroup, type StreamGroupConfig } from './stream-group.js';

describe('Redis', () => {
  let running: Awaited<ReturnType<typeof redis>>;
  const stops: (() => Promise<void>)[] = [];

  beforeAll(async () => {
    running = await redis();
    console.log(`Redis: tested against ${running.server === undefined ? running.url : 'a redis-server of our own'}`);
  });
  afterEach(async () => {
    await Promise.all(stops.splice(0).map((stop) => stop()));
  });
  afterAll(() => running.stop());

  function loop(reconciler: Reconciler, events: EventStream, enqueued: string[] = []): () => Promise<void> {
    const config = {
      leaderElectionEnabled: false,
      workerCount: 100,
      shutdownGrace: 200,
      observability: observability({ logger: noopLogger }),
    };
    const controller = new Controller(config, reconciler, { events });
    const stop = new AbortController();
    controller.steps.pipe(acknowledge<Delivery>({ ...answers, observability: config.observability })).subscribe();
    controller.steps.pipe(ofKind('enqueued')).subscribe(({ id }) => enqueued.push(id));
    const ended = controller.run(stop.signal);
    const stopped = async () => {
      stop.abort();
      await ended;
    };
    stops.push(stopped);
    return stopped;
  }
  const eventually = (assertion: () => unknown) => vi.waitFor(assertion, { timeout: 90_000, interval: 50 });

  /** Does it with a connection of its own, again until it goes through. */
  async function persist<T>(command: (connected: Client) => Promise<T>): Promise<T> {
    for (;;) {
      const connecting = client(running.url).on('error', () => {});
      try {
        return await Promise.race([connecting.connect().then(command), sleep(2_000).then(() => Promise.reject(new Error('silence')))]);
      } catch {
        await sleep(50);
      } finally {
        if (connecting.isOpen) connecting.destroy();
      }
    }
  }
  /** What may happen to a server, for as long as something lasts. */
  async function chaos(lasting: Promise<unknown>): Promise<void> {
    let isOver = false as boolean;
    const over = lasting.finally(() => (isOver = true));
    for (let round = 0; !isOver && running.server !== undefined; round++) {
      await sleep(1_000);
      if (round % 2 === 0) {
        await running.server.kill();
        await sleep(300);
        await running.server.restart();
      } else {
        running.server.freeze();
        await sleep(1_500);
        running.server.thaw();
      }
    }
    await over;
  }

  describe('a channel', () => {
    const channelOf = (channel: string, list: () => readonly string[]) =>
      published({ url: running.url, channel, list: () => [list()], silence: 500 });

    it('should hear what is published, and have listed before', async () => {
      const heard: string[] = [];
      const channel = randomUUID();
      loop(
        (id) => void heard.push(id),
        channelOf(channel, () => ['listed']),
      );
      await eventually(() => expect(heard).toEqual(['listed']));
      await persist((connected) => connected.publish(channel, 'published'));
      await eventually(() => expect(heard).toEqual(['listed', 'published']));
    });

    it('should lose no id, though the server is killed and frozen and forgets what was published', async () => {
      const [desired, actual] = [new Map<string, number>(), new Map<string, number>()];
      const channel = randomUUID();
      loop(
        (id) => void actual.set(id, desired.get(id) ?? 0),
        channelOf(channel, () => [...desired.keys()]),
      );
      const publishing = async () => {
        const publisher = client(running.url).on('error', () => {});
        for (let value = 1; value <= 1_500; value++) {
          const id = `id-${Math.floor(100 * Math.random())}`;
          desired.set(id, value);
          if (!publisher.isOpen) await publisher.connect().catch(() => {});
          publisher.publish(channel, id).catch(() => {});
          await sleep(4);
        }
        publisher.destroy();
      };
      await chaos(publishing());
      await eventually(() => expect(Object.fromEntries(actual)).toEqual(Object.fromEntries(desired)));
    });
  });

  describe('a stream', () => {
    const groupOf = (stream: string, config: Partial<StreamGroupConfig> = {}) =>
      streamGroup({ url: running.url, stream, group: 'loop', consumer: randomUUID(), idle: 1_000, silence: 1_000, ...config });
    const add = (stream: string, ids: readonly string[]) =>
      persist(async (connected) => {
        await Promise.all(ids.map((id) => connected.xAdd(stream, '*', { id })));
      });
    const pending = (stream: string) => persist(async (connected) => (await connected.xPending(stream, 'loop')).pending);
    const unread = (stream: string) => persist(async (connected) => (await connected.xInfoGroups(stream))[0]?.lag);
    const ids = (count: number) => Array.from({ length: count }, (_, index) => `id-${index}`);

    it('should acknowledge what is done, and nothing else', async () => {
      const [stream, held, done] = [randomUUID(), gate(), [] as string[]];
      await add(stream, ids(10));
      const reconciler = async (id: string) => {
        if (id === 'id-3') await held.opened;
        done.push(id);
      };
      // Renewed all the time, so that nobody claims what is in work.
      loop(reconciler, groupOf(stream));
      loop(reconciler, groupOf(stream));
      await eventually(() => expect(done).toHaveLength(9));
      await sleep(2_500);
      expect(await pending(stream)).toBe(1);
      held.open();
      await eventually(async () => expect(await pending(stream)).toBe(0));
      expect(done).toHaveLength(10);
    });

    it('should take over what a dead consumer held', async () => {
      const [stream, done] = [randomUUID(), [] as string[]];
      await add(stream, ids(10));
      await persist(async (connected) => {
        await connected.xGroupCreate(stream, 'loop', '0');
        await connected.xReadGroup('loop', 'dead', { key: stream, id: '>' }, { COUNT: 6 });
      });
      loop((id) => void done.push(id), groupOf(stream));
      await eventually(() => expect(done).toEqual(['id-6', 'id-7', 'id-8', 'id-9']));
      await eventually(async () => expect(await pending(stream)).toBe(0));
      expect([...done].sort()).toEqual(ids(10));
    });

    it('should begin with what it held before, though some of it was trimmed', async () => {
      const [stream, done] = [randomUUID(), [] as string[]];
      await add(stream, ids(10));
      await persist(async (connected) => {
        await connected.xGroupCreate(stream, 'loop', '0');
        await connected.xReadGroup('loop', 'me', { key: stream, id: '>' });
        await connected.xTrim(stream, 'MAXLEN', 6);
      });
      loop((id) => void done.push(id), groupOf(stream, { consumer: 'me', idle: 60_000 }));
      await eventually(() => expect(done).toEqual(ids(10).slice(4)));
      await eventually(async () => expect(await pending(stream)).toBe(0));
    });

    it('should hand over at once what it held when it stops', async () => {
      const [stream, started, done] = [randomUUID(), [] as string[], [] as string[]];
      await add(stream, ids(3));
      const stop = loop(
        (id) => {
          started.push(id);
          return new Promise(() => {});
        },
        groupOf(stream, { idle: 2_000 }),
      );
      await eventually(() => expect(started).toHaveLength(3));
      await stop();
      const began = performance.now();
      loop((id) => void done.push(id), groupOf(stream, { idle: 2_000 }));
      await eventually(() => expect([...done].sort()).toEqual(ids(3)));
      expect(performance.now() - began).toBeLessThan(1_800);
    });

    it('should not be blocked by a poisonous entry', async () => {
      const [stream, done] = [randomUUID(), [] as string[]];
      await add(stream, ['id-0', 'poison', '', 'id-1']);
      loop((id) => {
        if (id === 'poison') throw new TerminalError('cannot be done');
        done.push(id);
      }, groupOf(stream));
      await eventually(async () => expect(await persist((connected) => connected.xLen(`${stream}:dead`))).toBe(2));
      await eventually(async () => expect(await pending(stream)).toBe(0));
      expect(done).toEqual(['id-0', 'id-1']);
    });

    it('should read no more than it may have in flight', async () => {
      const [stream, held, enqueued] = [randomUUID(), gate(), [] as string[]];
      await add(stream, ids(500));
      loop(() => held.opened, groupOf(stream, { inFlight: 100 }), enqueued);
      await eventually(() => expect(enqueued).toHaveLength(100));
      await sleep(1_000);
      expect(enqueued).toHaveLength(100);
      held.open();
      await eventually(() => expect(enqueued).toHaveLength(500));
    });

    it('should lose no id, though the server is killed and frozen, and consumers come and go', async () => {
      const [desired, actual] = [new Map<string, number>(), new Map<string, number>()];
      const stream = randomUUID();
      const reconciler = async (id: string) => {
        const value = desired.get(id) ?? 0;
        await sleep(5);
        actual.set(id, Math.max(value, actual.get(id) ?? 0));
      };
      loop(reconciler, groupOf(stream));
      let stop = loop(reconciler, groupOf(stream));
      const adding = async () => {
        for (let value = 1; value <= 2_000; value += 40) {
          const batch = Array.from({ length: 40 }, () => `id-${Math.floor(300 * Math.random())}`);
          for (const [index, id] of batch.entries()) desired.set(id, value + index);
          await add(stream, batch);
          await sleep(50);
          if (value % 400 === 1) {
            await stop();
            stop = loop(reconciler, groupOf(stream));
          }
        }
      };
      await chaos(adding());
      await eventually(() => expect(Object.fromEntries(actual)).toEqual(Object.fromEntries(desired)));
      await eventually(async () => expect([await unread(stream), await pending(stream)]).toEqual([0, 0]));
    });
  });
});
