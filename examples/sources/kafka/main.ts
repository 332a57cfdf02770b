import { setTimeout as sleep } from 'node:timers/promises';
import { Kafka, logLevel } from 'kafkajs';
import { acknowledge, Controller, noopLogger, observability, resync, TerminalError } from 'kreconciler';
import { lastValueFrom } from 'rxjs';
import { started } from '../support/started.js';
import { answers } from './answers.js';
import { broker } from './broker.js';
import { consumerGroup, type Delivery } from './consumer-group.js';

const begin = started(`
A Kafka consumer group as event stream: a message is committed when its id has been reconciled.

  npm run example:kafka                              a broker of its own
  KAFKA_BROKERS=host:9092 npm run example:kafka      another; the topics \`lamps\` and \`lamps-dead\` are made there`);

const { brokers, kind, makeTopics, stop } = await broker();
// When nothing keeps Node alive any more, the group is left.
process.once('beforeExit', () => void stop());
console.log(`Kafka: ${kind}`);
const kafka = new Kafka({ brokers: [...brokers], logLevel: logLevel.ERROR });
const [admin, producer] = [kafka.admin(), kafka.producer()];
await Promise.all([admin.connect(), producer.connect()]);
await makeTopics(admin, { topic: 'lamps', numPartitions: 4 }, { topic: 'lamps-dead', numPartitions: 1 });
await admin.disconnect();
const signal = begin();

const ROOMS = ['kitchen', 'hall', 'attic', 'cellar'];
const desired = new Map<string, number>();
const actual = new Map<string, number>();

const controller = new Controller(
  { leaderElectionEnabled: false, observability: observability({ logger: noopLogger }) },
  async (id) => {
    await sleep(50);
    if (Math.random() < 0.1) throw new TerminalError('the fuse has blown');
    actual.set(id, desired.get(id) ?? 0);
  },
  {
    lamps: consumerGroup({ kafka, topic: 'lamps', consumer: { groupId: 'switch' }, idOf: ({ key }) => String(key) }),
    // What was changed without a message, and what is older than the topic keeps.
    all: resync({ every: 60_000, list: () => ROOMS }),
  },
);
const answered = lastValueFrom(
  controller.steps.pipe(
    acknowledge<Delivery>(
      answers(({ message }, step) => {
        console.log(`${step.id}: given up, the message goes to \`lamps-dead\``);
        return producer.send({ topic: 'lamps-dead', messages: [{ key: message.key, value: message.value }] });
      }),
    ),
  ),
  { defaultValue: undefined },
);

async function changeYourMind(): Promise<void> {
  while (!signal.aborted) {
    const room = ROOMS[Math.floor(Math.random() * 4)] as string;
    desired.set(room, Math.floor(Math.random() * 10));
    await producer.send({ topic: 'lamps', messages: [{ key: room, value: null }] });
    await sleep(150);
    console.log([...actual].map(([id, lamps]) => `${id} ${String(lamps)}`).join(', '));
  }
}

await Promise.all([controller.run(signal), changeYourMind()]);
await answered;
await producer.disconnect();
