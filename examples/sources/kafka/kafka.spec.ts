import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Admin, Kafka, logLevel, type Producer } from 'kafkajs';
import { acknowledge, Controller, noopLogger, observability, ofKind, type Reconciler, TerminalError } from 'kreconciler';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { gate } from '../support/gate.js';
import { store } from '../support/store.js';
import { answers } from './answers.js';
import { type Broker, broker } from './broker.js';
import { consumerGroup, type Delivery } from './consumer-group.js';

const COMMIT_EVERY = 50;

describe('a Kafka consumer group as event stream', () => {
  let running: Broker;
  let kafka: Kafka;
  let admin: Admin;
  let producer: Producer;
  const children = new Set<ChildProcess>();

  beforeAll(async () => {
    running = await broker();
    console.log(`Kafka: tested against ${running.kind}`);
    kafka = new Kafka({
      brokers: [...running.brokers],
      logLevel: logLevel.NOTHING,
      requestTimeout: 5_000,
      retry: { retries: 300, maxRetryTime: 1_000 },
    });
    [admin, producer] = [kafka.admin(), kafka.producer()];
    await Promise.all([admin.connect(), producer.connect()]);
  });
  afterAll(async () => {
    for (const child of children) child.kill('SIGKILL');
    await Promise.allSettled([admin.disconnect(), producer.disconnect()]);
    await running.stop();
  });

  /** A topic of its own, with as many partitions. */
  async function newTopic(numPartitions: number): Promise<string> {
    const topic = `topic-${randomUUID()}`;
    await running.makeTopics(admin, { topic, numPartitions });
    return topic;
  }
  const send = (topic: string, ids: readonly string[], partition = 0) =>
    producer.send({ topic, messages: ids.map((key) => ({ key, value: null, partition })) });
  const committed = async (topic: string): Promise<readonly number[]> => {
    const [{ partitions } = { partitions: [] }] = await admin.fetchOffsets({ groupId: topic, topics: [topic] });
    return inOrder(partitions).map(({ offset }) => Number(offset));
  };
  function member(topic: string, reconciler: Reconciler, { inFlight = 1_000, dead = [] as string[], enqueued = [] as string[] } = {}) {
    const items = consumerGroup({
      kafka,
      topic,
      idOf: ({ key }) => String(key),
      consumer: {
        groupId: topic,
        sessionTimeout: 6_000,
        rebalanceTimeout: 6_000,
        heartbeatInterval: 200,
        maxWaitTimeInMs: 200,
        maxBytesPerPartition: 2_000,
      },
      commitEvery: COMMIT_EVERY,
      inFlight,
    });
    const controller = new Controller(
      { leaderElectionEnabled: false, workerCount: 100, shutdownGrace: 500, observability: observability({ logger: noopLogger }) },
      reconciler,
      { items },
    );
    const stop = new AbortController();
    controller.steps.pipe(acknowledge<Delivery>(answers(({ message }) => Promise.resolve(dead.push(String(message.key)))))).subscribe();
    controller.steps.pipe(ofKind('enqueued')).subscribe(({ id }) => enqueued.push(id));
    const ended = controller.run(stop.signal);
    return async () => {
      stop.abort();
      await ended;
      // The stand-in does not know who is in a group.
      if (running.server !== undefined)
        await vi.waitFor(async () => expect((await admin.describeGroups([topic])).groups[0]?.members.length ?? 0).toBe(0), {
          timeout: 20_000,
          interval: 100,
        });
    };
  }
  const ids = (count: number) => Array.from({ length: count }, (_, index) => `id-${index}`);
  const eventually = (assertion: () => unknown, timeout = 30_000) => vi.waitFor(assertion, { timeout, interval: 50 });

  it('should commit only up to the first message that is not done', async () => {
    const topic = await newTopic(1);
    const held = gate();
    const done: string[] = [];
    await send(topic, ids(10));
    const stop = member(topic, async (id) => {
      if (id === 'id-3') await held.opened;
      done.push(id);
    });
    await eventually(() => expect(done).toHaveLength(9));
    await eventually(async () => expect(await committed(topic)).toMatchObject({ 0: 3 }));
    await sleep(10 * COMMIT_EVERY);
    expect(await committed(topic)).toMatchObject({ 0: 3 });
    held.open();
    await eventually(async () => expect(await committed(topic)).toMatchObject({ 0: 10 }));
    await stop();
  });

  it('should not be blocked by a poisonous message', async () => {
    const topic = await newTopic(1);
    const dead: string[] = [];
    await send(topic, ['id-0', 'poison', '', 'id-1']);
    const stop = member(
      topic,
      (id) => {
        if (id === 'poison') throw new TerminalError('cannot be done');
      },
      { dead },
    );
    await eventually(async () => expect(await committed(topic)).toMatchObject({ 0: 4 }));
    expect(dead.sort()).toEqual(['', 'poison']);
    await stop();
  });

  it('should pause while too much is not done, and resume', async () => {
    const topic = await newTopic(1);
    const held = gate();
    const enqueued: string[] = [];
    for (let batch = 0; batch < 20; batch++) await send(topic, ids(2_000).slice(100 * batch, 100 * (batch + 1)));
    const stop = member(topic, () => held.opened, { inFlight: 100, enqueued });
    await eventually(() => expect(enqueued.length).toBeGreaterThanOrEqual(100));
    await sleep(2_000);
    expect(enqueued.length).toBeLessThan(300);
    expect(await committed(topic)).toMatchObject({ 0: -1 });
    held.open();
    await eventually(async () => expect(await committed(topic)).toMatchObject({ 0: 2_000 }));
    await stop();
  });

  it('should commit nothing of a partition that was revoked', async () => {
    const topic = await newTopic(2);
    const held = gate();
    const [one, other] = [[] as string[], [] as string[]];
    for (const partition of [0, 1]) await send(topic, [`a-${partition}`, `b-${partition}`], partition);
    const stopOne = member(topic, async (id) => {
      one.push(id);
      await held.opened;
    });
    await eventually(() => expect(one).toHaveLength(4));
    const stopOther = member(topic, async (id) => {
      other.push(id);
      await new Promise(() => {});
    });
    await eventually(() => expect(other).toHaveLength(2));
    const lost = Number(other[0]?.at(-1));
    held.open();
    await eventually(async () => expect((await committed(topic))[1 - lost]).toBe(2));
    await sleep(10 * COMMIT_EVERY);
    expect((await committed(topic))[lost]).toBe(-1);
    await Promise.all([stopOne(), stopOther()]);
    expect((await committed(topic))[lost]).toBe(-1);
  });

  it('should lose no id, though members are killed and join, and the broker is killed and frozen', { timeout: 400_000 }, async () => {
    const [topic, items] = [await newTopic(4), await store()];
    const { desired, actual } = items;
    let value = 0;
    const produce = async (batches: number) => {
      for (let batch = 0; batch < batches; batch++) {
        const changed = Array.from({ length: 20 }, () => `id-${Math.floor(200 * Math.random())}`);
        for (const id of changed) desired.set(id, ++value);
        await producer.send({ topic, acks: -1, messages: changed.map((key) => ({ key, value: null })) });
        await sleep(20);
      }
    };
    const join = (): ChildProcess => {
      const child = spawn(process.execPath, ['--import', 'tsx', path('member.ts'), running.brokers.join(','), topic, items.url], {
        stdio: ['ignore', 'ignore', 'inherit'],
      });
      children.add(child);
      return child;
    };
    const isRight = () => expect(Object.fromEntries(actual)).toEqual(Object.fromEntries(desired));
    const [first, second] = [join(), join()];
    await produce(20);
    await eventually(isRight, 60_000);

    // Each while messages come, and each after the other has been got over.
    const faults: readonly (() => unknown)[] = [
      () => first.kill('SIGKILL'),
      () => running.server?.kill().then(() => running.server?.restart()),
      () => join(),
      async () => {
        running.server?.freeze();
        await sleep(4_000);
        running.server?.thaw();
      },
      () => second.kill('SIGTERM'),
    ];
    for (const fault of faults) {
      const producing = produce(40);
      await sleep(200);
      await fault();
      await producing;
      await eventually(isRight, 90_000);
    }
    const ends = inOrder(await admin.fetchTopicOffsets(topic)).map(({ high }) => Number(high));
    expect(ends.reduce((sum, end) => sum + end, 0)).toBeGreaterThanOrEqual(value);
    await eventually(async () => expect(await committed(topic)).toEqual(ends), 60_000);
    items.close();
  });
});

function inOrder<P extends { readonly partition: number }>(partitions: readonly P[]): readonly P[] {
  return [...partitions].sort((one, other) => one.partition - other.partition);
}

function path(file: string): string {
  return join(import.meta.dirname, file);
}
