import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from 'amqplib';
import { acknowledge, Controller, noopLogger, observability, resync, TerminalError } from 'kreconciler';
import { lastValueFrom } from 'rxjs';
import { started } from '../support/started.js';
import { answers } from './answers.js';
import { declare } from './declare.js';
import { type Delivery, queue } from './queue.js';
import { rabbitmq } from './server.js';

const begin = started(`
A queue of RabbitMQ: a message is acknowledged when its id has been reconciled.

  npm run example:rabbitmq                          a server of its own
  AMQP_URL=amqp://... npm run example:rabbitmq      another; the queues \`lamps\` and \`lamps.dead\` are made there`);

const { url, stop } = await rabbitmq();
process.once('beforeExit', () => void stop());
const connection = await connect(url);
const channel = await connection.createConfirmChannel();
await declare(channel, 'lamps');
const signal = begin();

const ROOMS = ['kitchen', 'hall', 'attic', 'cellar'];
const desired = new Map<string, number>();

const controller = new Controller(
  { leaderElectionEnabled: false, observability: observability({ logger: noopLogger }) },
  async (id) => {
    await sleep(50);
    if (Math.random() < 0.1) throw new TerminalError('the fuse has blown');
    console.log(`${id} ${String(desired.get(id) ?? 0)}`);
  },
  {
    lamps: queue({ url, queue: 'lamps' }),
    // What was changed without a message.
    all: resync({ every: 60_000, list: () => ROOMS }),
  },
);
const answered = lastValueFrom(controller.steps.pipe(acknowledge<Delivery>(answers)), { defaultValue: undefined });

async function changeYourMind(): Promise<void> {
  for (let count = 0; !signal.aborted; count++) {
    const room = ROOMS[Math.floor(Math.random() * 4)] as string;
    desired.set(room, count);
    channel.sendToQueue('lamps', Buffer.from(room), { persistent: true });
    await channel.waitForConfirms();
    await sleep(150);
  }
}

await Promise.all([controller.run(signal), changeYourMind()]);
await answered;
const { messageCount } = await channel.checkQueue('lamps.dead');
console.log(`${String(messageCount)} dead letters`);
await connection.close();
