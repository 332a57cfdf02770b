/** A member of the consumer group in a process of its own, to be killed: `member.ts BROKERS TOPIC STORE`. */
import { Kafka, logLevel } from 'kafkajs';
import { acknowledge, Controller, noopLogger, observability } from 'kreconciler';
import { makeRight } from '../support/store.js';
import { answers } from './answers.js';
import { consumerGroup, type Delivery } from './consumer-group.js';

const [brokers = '', topic = '', url = ''] = process.argv.slice(2);
const kafka = new Kafka({ brokers: brokers.split(','), logLevel: logLevel.NOTHING, requestTimeout: 3_000 });
const controller = new Controller(
  { leaderElectionEnabled: false, workerCount: 4, observability: observability({ logger: noopLogger }) },
  (id) => makeRight(url, id),
  {
    items: consumerGroup({
      kafka,
      topic,
      idOf: ({ key }) => String(key),
      consumer: { groupId: topic, sessionTimeout: 6_000, rebalanceTimeout: 10_000, heartbeatInterval: 500, maxWaitTimeInMs: 500 },
      commitEvery: 100,
      silence: 20_000,
      inFlight: 100,
    }),
  },
);
const stop = new AbortController();
process.once('SIGTERM', () => stop.abort());
controller.steps.pipe(acknowledge<Delivery>(answers(() => Promise.reject(new Error('There is nothing poisonous here'))))).subscribe();
await controller.run(stop.signal);
