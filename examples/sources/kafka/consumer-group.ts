import { setTimeout as sleep } from 'node:timers/promises';
import type { ConsumerConfig, EachBatchPayload, Kafka, KafkaMessage } from 'kafkajs';
import type { Trigger } from 'kreconciler';
import { exhaustMap, interval, Observable, Subscription, timer } from 'rxjs';
import { reconnect } from '../support/reconnect.js';
import { Offsets } from './offsets.js';

/** What is read, and how. */
export interface ConsumerGroupConfig {
  readonly kafka: Kafka;
  readonly topic: string;
  /** Handed to kafkajs. */
  readonly consumer: ConsumerConfig;
  /** The id that a message is about. Where it throws, the id is `''`, which the loop rejects. */
  readonly idOf: (message: KafkaMessage) => string;
  /** From how many messages that are not done fetching pauses. Default 1_000: below `workerQueueSize`, so that few are refused. */
  readonly inFlight?: number;
  /** How often is committed, in ms. Default 500. */
  readonly commitEvery?: number;
  /** How long without a fetch until the client counts as stuck, in ms. Default 75_000: a rebalance may take 60_000. */
  readonly silence?: number;
  /** How long after unsubscribing answers are waited for before the group is left, in ms. Default 30_000, as `shutdownGrace`. */
  readonly grace?: number;
}

/** A message, and what may become of it. Once its partition is lost, nothing becomes of it. */
export interface Delivery {
  readonly message: KafkaMessage;
  readonly partition: number;
  /** Its offset may be committed, once all before it are done. */
  readonly done: () => void;
  /** It is emitted again in `delay` ms. */
  readonly again: (delay: number) => void;
  /** It is not committed: whoever has the partition next gets it. */
  readonly leave: () => void;
}

type Event = Trigger & { readonly message: Delivery };

/**
 * Emits what a member of a consumer group gets, and commits of each partition what lies before the first message that is not
 * done. When the client crashes or is stuck, it joins anew, with backoff. Never completes, never errors.
 *
 * Unsubscribing stops fetching at once; the group is left when all is answered, or after `grace` ms.
 */
export function consumerGroup(config: ConsumerGroupConfig): Observable<Event> {
  return membership(config).pipe(reconnect(`Kafka, topic ${config.topic}`));
}

/** One client, until it crashes or is stuck. */
function membership(config: ConsumerGroupConfig): Observable<Event> {
  const { kafka, topic, idOf, inFlight = 1_000, commitEvery = 500, silence = 75_000, grace = 30_000 } = config;
  const once = { ...config.consumer.retry, restartOnFailure: () => Promise.resolve(false) };
  return new Observable<Event>((subscriber) => {
    const consumer = kafka.consumer({ ...config.consumer, retry: once });
    const timers = new Subscription();
    let partitions = new Map<number, Offsets>();
    let last: EachBatchPayload | undefined;
    let fetchedAt = performance.now();
    const sum = (of: 'size' | 'pending'): number => [...partitions.values()].reduce((total, offsets) => total + offsets[of], 0);

    // A rebalance takes all partitions away. Those that come back begin at what was committed: all that was in flight is
    // delivered again, and an answer to the delivery before counts for nothing.
    const lose = (): void => {
      for (const offsets of partitions.values()) offsets.isLost = true;
      partitions = new Map();
    };
    consumer.on(consumer.events.REBALANCING, lose);
    consumer.on(consumer.events.GROUP_JOIN, lose);
    consumer.on(consumer.events.FETCH, () => {
      fetchedAt = performance.now();
    });
    const fail = (error: unknown): void => {
      lose();
      subscriber.error(error);
    };
    consumer.on(consumer.events.CRASH, ({ payload }) => fail(payload.error));

    const throttle = (): void => {
      const isPaused = consumer.paused().length > 0;
      if (!isPaused && sum('size') >= inFlight) consumer.pause([{ topic }]);
      else if (isPaused && !subscriber.closed && sum('size') <= inFlight / 2) consumer.resume([{ topic }]);
    };
    const deliver = (offsets: Offsets, message: KafkaMessage): void => {
      const [offset, id] = [BigInt(message.offset), idOrNone(idOf, message)];
      const emit = (): void => {
        if (offsets.isLost || subscriber.closed) return;
        offsets.pending++;
        subscriber.next({ id, message: delivery });
      };
      const answer = (): void => {
        offsets.pending--;
        throttle();
      };
      const delivery: Delivery = {
        message,
        partition: offsets.partition,
        done: () => {
          offsets.done(offset);
          answer();
        },
        again: (delay) => {
          answer();
          timers.add(timer(delay).subscribe(emit));
        },
        leave: answer,
      };
      offsets.add(offset);
      emit();
    };
    const commitDue = async (): Promise<void> => {
      const due = [...partitions.values()].filter(({ committable, committed }) => committable > committed);
      const offsets = due.map(({ partition, committable }) => ({ partition, offset: String(committable) }));
      if (due.length === 0) return;
      // Not `consumer.commitOffsets`: that one tries again by itself, after a rebalance too. This one is of one generation.
      await last?.commitOffsetsIfNecessary({ topics: [{ topic, partitions: offsets }] });
      for (const [index, { offset }] of offsets.entries()) (due[index] as Offsets).committed = BigInt(offset);
    };
    const commitFailed = (error: unknown): void => {
      if (isOutOfGroup(error)) lose();
      console.warn(`Kafka, topic ${topic}: committing failed: ${String(error)}`);
    };

    const joined = (async () => {
      await consumer.connect();
      await consumer.subscribe({ topics: [topic], fromBeginning: true });
      await consumer.run({
        autoCommit: false,
        eachBatch: async (payload) => {
          if (subscriber.closed) return;
          last = payload;
          const { batch } = payload;
          const offsets = partitions.get(batch.partition) ?? new Offsets(batch.partition, BigInt(batch.firstOffset() ?? 0));
          partitions.set(batch.partition, offsets);
          for (const message of batch.messages) deliver(offsets, message);
          throttle();
        },
      });
    })().catch(fail);
    timers.add(
      interval(commitEvery)
        .pipe(exhaustMap(() => commitDue().catch(commitFailed)))
        .subscribe(),
    );
    timers.add(
      interval(silence / 4).subscribe(() => {
        if (performance.now() - fetchedAt > silence) fail(new Error(`nothing was fetched for ${String(silence)} ms`));
      }),
    );
    const leave = async (): Promise<void> => {
      await joined;
      if (partitions.size > 0) consumer.pause([{ topic }]);
      for (const until = performance.now() + grace; sum('pending') > 0 && performance.now() < until;) await sleep(50);
      timers.unsubscribe();
      await commitDue().catch(commitFailed);
      lose();
      await consumer.disconnect();
    };
    return () => void leave().catch(commitFailed);
  });
}

/** Whether the broker refuses us as a member: the heartbeat may take a while to notice. */
function isOutOfGroup(error: unknown): boolean {
  const { type } = error as { readonly type?: string };
  return type === 'UNKNOWN_MEMBER_ID' || type === 'ILLEGAL_GENERATION' || type === 'REBALANCE_IN_PROGRESS';
}

function idOrNone(idOf: (message: KafkaMessage) => string, message: KafkaMessage): string {
  try {
    return idOf(message);
  } catch {
    return '';
  }
}
