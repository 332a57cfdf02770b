import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ChannelModel, type ConfirmChannel, connect } from 'amqplib';
import { acknowledge, Controller, noopLogger, observability, ofKind, type Reconciler, TerminalError } from 'kreconciler';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { gate } from '../support/gate.js';
import { answers } from './answers.js';
import { declare } from './declare.js';
import { type Delivery, queue as queueOf, type QueueConfig } from './queue.js';
import { rabbitmq } from './server.js';

describe('a queue of RabbitMQ', () => {
  let running: Awaited<ReturnType<typeof rabbitmq>>;
  const stops: (() => Promise<void>)[] = [];

  beforeAll(async () => {
    running = await rabbitmq();
    console.log(`RabbitMQ: tested against ${running.server === undefined ? running.url : 'a rabbitmq-server of our own'}`);
  });
  afterEach(async () => {
    await Promise.all(stops.splice(0).map((stop) => stop()));
  });
  afterAll(() => running.stop());

  function loop(queue: string, reconciler: Reconciler, config: Partial<QueueConfig> = {}, enqueued: string[] = []): () => Promise<void> {
    const quiet = observability({ logger: noopLogger });
    const controller = new Controller(
      { leaderElectionEnabled: false, workerCount: 100, shutdownGrace: 200, observability: quiet },
      reconciler,
      {
        items: queueOf({ url: running.url, queue, heartbeat: 1, ...config }),
      },
    );
    const stop = new AbortController();
    controller.steps.pipe(acknowledge<Delivery>({ ...answers, delay: 300, observability: quiet })).subscribe();
    controller.steps.pipe(ofKind('enqueued')).subscribe(({ id }) => enqueued.push(id));
    const ended = controller.run(stop.signal);
    const stopped = async () => {
      stop.abort();
      await ended;
    };
    stops.push(stopped);
    return stopped;
  }
  /** Does it over a connection of its own, again until it goes through. */
  async function persist<T>(command: (channel: ConfirmChannel) => Promise<T>): Promise<T> {
    for (;;) {
      let connection: ChannelModel | undefined;
      try {
        connection = await connect(`${running.url}?heartbeat=1`, { timeout: 2_000 });
        connection.on('error', () => {});
        const channel = await connection.createConfirmChannel();
        channel.on('error', () => {});
        return await Promise.race([command(channel), sleep(5_000).then(() => Promise.reject(new Error('silence')))]);
      } catch {
        await sleep(100);
      } finally {
        connection?.close().catch(() => {});
      }
    }
  }
  const send = (queue: string, ids: readonly string[]) =>
    persist(async (channel) => {
      for (const id of ids) channel.sendToQueue(queue, Buffer.from(id), { persistent: true });
      await channel.waitForConfirms();
    });
  async function newQueue(ids: readonly string[] = []): Promise<string> {
    const queue = `queue-${randomUUID()}`;
    await persist((channel) => declare(channel, queue));
    await send(queue, ids);
    return queue;
  }
  const count = (queue: string) => persist(async (channel) => (await channel.checkQueue(queue)).messageCount);
  const ids = (length: number) => Array.from({ length }, (_, index) => `id-${index}`);
  const eventually = (assertion: () => unknown, timeout = 90_000) => vi.waitFor(assertion, { timeout, interval: 50 });

  it('should acknowledge what is done, and give back at once what is not when it stops', async () => {
    const [queue, held, done] = [await newQueue(ids(10)), gate(), [] as string[]];
    const stop = loop(queue, async (id) => {
      if (id === 'id-3' || id === 'id-7') await held.opened;
      done.push(id);
    });
    await eventually(() => expect(done).toHaveLength(8));
    expect(await count(queue)).toBe(0);
    await stop();
    await eventually(async () => expect(await count(queue)).toBe(2));
    const rest: string[] = [];
    loop(queue, (id) => void rest.push(id));
    await eventually(() => expect(rest.sort()).toEqual(['id-3', 'id-7']));
  });

  it('should get what a consumer held that has died', async () => {
    const [queue, done] = [await newQueue(ids(10)), [] as string[]];
    const held: string[] = [];
    const dying = await connect(running.url);
    dying.on('error', () => {});
    const channel = await dying.createChannel();
    await channel.prefetch(6);
    await channel.consume(queue, (message) => held.push(String(message?.content)));
    await eventually(() => expect(held).toHaveLength(6));
    loop(queue, (id) => void done.push(id));
    await eventually(() => expect(done).toHaveLength(4));
    await dying.close();
    await eventually(() => expect([...done].sort()).toEqual(ids(10)));
  });

  it('should not be blocked by a poisonous message, which becomes a dead letter', async () => {
    const [queue, done] = [await newQueue(['id-0', 'poison', '', 'id-1']), [] as string[]];
    loop(queue, (id) => {
      if (id === 'poison') throw new TerminalError('cannot be done');
      done.push(id);
    });
    await eventually(() => expect(done).toEqual(['id-0', 'id-1']));
    await eventually(async () => expect(await count(`${queue}.dead`)).toBe(2));
  });

  it('should hold no more than its prefetch', async () => {
    const [queue, held, enqueued] = [await newQueue(ids(500)), gate(), [] as string[]];
    loop(queue, () => held.opened, { prefetch: 100 }, enqueued);
    await eventually(() => expect(enqueued).toHaveLength(100));
    await sleep(1_000);
    expect(enqueued).toHaveLength(100);
    held.open();
    await eventually(() => expect(enqueued).toHaveLength(500));
  });

  it('should lose no id, though the server is killed and frozen, and consumers come and go', { timeout: 300_000 }, async () => {
    const [desired, actual] = [new Map<string, number>(), new Map<string, number>()];
    const queue = await newQueue();
    // It writes down what was declared with a delay of its own: one that is killed right after has lost the queue, and nobody declares it again.
    await sleep(3_000);
    const reconciler = async (id: string) => {
      const value = desired.get(id) ?? 0;
      await sleep(5);
      actual.set(id, Math.max(value, actual.get(id) ?? 0));
    };
    loop(queue, reconciler);
    let stop = loop(queue, reconciler);
    let value = 0;
    const sendSome = async (batches: number) => {
      for (let batch = 0; batch < batches; batch++) {
        const changed = Array.from({ length: 50 }, () => `id-${Math.floor(300 * Math.random())}`);
        for (const id of changed) desired.set(id, ++value);
        await send(queue, changed);
      }
    };
    await sendSome(10);
    const overKill = sendSome(10);
    await running.server?.kill();
    await running.server?.restart();
    await overKill;
    await stop();
    stop = loop(queue, reconciler);
    const overSilence = sendSome(10);
    running.server?.freeze();
    await sleep(5_000);
    running.server?.thaw();
    await overSilence;
    await sendSome(10);
    await eventually(() => expect(Object.fromEntries(actual)).toEqual(Object.fromEntries(desired)));
    await eventually(async () => expect(await count(queue)).toBe(0));
    await Promise.all(stops.splice(0).map((each) => each()));
    await sleep(500);
    // What was held and not acknowledged would be back by now.
    expect(await count(queue)).toBe(0);
  });
});
