import { setTimeout as sleep } from 'node:timers/promises';
import { acknowledge, Controller, noopLogger, observability, TerminalError } from 'kreconciler';
import { lastValueFrom } from 'rxjs';
import { started } from '../support/started.js';
import { answers } from './answers.js';
import { client } from './connection.js';
import { published } from './published.js';
import { redis } from './server.js';
import { type Delivery, streamGroup } from './stream-group.js';

const begin = started(`
Redis, in two ways: a channel, with a list on every connect; and a stream, whose consumer group acknowledges.

  npm run example:redis                           a server of its own
  REDIS_URL=redis://... npm run example:redis     another; the stream \`lamps\` is made there`);

const { url, stop } = await redis();
process.once('beforeExit', () => void stop());
const publisher = await client(url).connect();
const signal = begin();

const ROOMS = ['kitchen', 'hall', 'attic', 'cellar'];
const desired = new Map<string, number>();

const controller = new Controller(
  { leaderElectionEnabled: false, observability: observability({ logger: noopLogger }) },
  async (id, { streams }) => {
    await sleep(50);
    if (Math.random() < 0.1) throw new TerminalError('the fuse has blown');
    console.log(`${id} ${String(desired.get(id) ?? 0)}, by ${streams.join(' and ')}`);
  },
  {
    channel: published({ url, channel: 'rooms', list: () => ROOMS }),
    stream: streamGroup({ url, stream: 'lamps', group: 'switch' }),
  },
);
const answered = lastValueFrom(controller.steps.pipe(acknowledge<Delivery>(answers)), { defaultValue: undefined });

async function changeYourMind(): Promise<void> {
  for (let count = 0; !signal.aborted; count++) {
    const room = ROOMS[Math.floor(Math.random() * 4)] as string;
    desired.set(room, count);
    if (count % 2 === 0) await publisher.publish('rooms', room);
    else await publisher.xAdd('lamps', '*', { id: room }, { TRIM: { strategy: 'MAXLEN', strategyModifier: '~', threshold: 10_000 } });
    await sleep(150);
  }
}

await Promise.all([controller.run(signal), changeYourMind()]);
await answered;
publisher.destroy();
