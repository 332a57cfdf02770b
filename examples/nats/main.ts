/**
 * A NATS JetStream consumer as event stream: a message is acknowledged when its id has been reconciled.
 *
 * Somebody changes the number of lamps that are to be lit in some rooms, and says so by a message. The reconciler makes it
 * so, slowly, and fails now and then; what it gives up comes back from the broker a second later.
 *
 *     npm run example:nats                    # a server of its own, until Ctrl-C
 *     npm run example:nats -- --for 5         # for five seconds
 *     NATS_URL=nats://... npm run example:nats
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { AckPolicy, jetstream, jetstreamManager, type JsMsg } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { lastValueFrom } from 'rxjs';
import { acknowledge, Controller } from 'kreconciler';
import { deliveries } from './deliveries.js';
import { natsServer } from './server.js';
import { optionsOf } from '../options.js';

const USAGE = `A consumer of NATS JetStream as event stream: a message is acknowledged when its id has been reconciled.

  npm run example:nats -- [--for <seconds>]      (default: until Ctrl-C)

NATS_URL=nats://... uses a server that runs; otherwise nats-server is started.`;
const options = optionsOf(USAGE, { for: { type: 'string' } });
const seconds = Number(options.for ?? Infinity);
if (!(seconds > 0)) throw new TypeError(`Expected --for to be a number of seconds > 0, got ${String(options.for)}`);

const stop = new AbortController();
process.once('SIGINT', () => stop.abort());
process.once('SIGTERM', () => stop.abort());
if (seconds < Infinity) setTimeout(() => stop.abort(), seconds * 1_000).unref();

const server = await natsServer();
const connection = await connect({ servers: server.url });
const broker = jetstream(connection);
const manager = await jetstreamManager(connection);
await manager.streams.add({ name: 'lamps', subjects: ['lamps.*'] });
await manager.consumers.add('lamps', {
  durable_name: 'switch',
  ack_policy: AckPolicy.Explicit,
  // Longer than an id may take with all its retries: else it is delivered again meanwhile, which is harmless but a waste.
  ack_wait: 30_000_000_000,
  // The bound of what is in flight, and so of what is remembered here.
  max_ack_pending: 100,
});

const desired = new Map<string, number>();
const actual = new Map<string, number>();

const controller = new Controller(
  { leaderElectionEnabled: false, workerCount: 2, maxItemRetries: 1 },
  async (id) => {
    const lamps = desired.get(id) ?? 0;
    await sleep(100);
    if (Math.random() < 0.2) throw new Error('the fuse has blown');
    actual.set(id, lamps);
  },
  { lamps: deliveries(await broker.consumers.get('lamps', 'switch')) },
);

const counts = { acked: 0, given: 0 };
const steps$ = controller.steps.pipe(
  acknowledge<JsMsg>({
    ack: (message, { id }) => {
      counts.acked++;
      console.log(`${id}: ${String(actual.get(id))} lamps lit, message ${String(message.seq)} acknowledged`);
      return message.ackAck();
    },
    nack: (message, delay, { id, reason }) => {
      counts.given++;
      console.log(`${id}: ${reason}, message ${String(message.seq)} is to come again in ${String(delay)} ms`);
      message.nak(delay);
    },
    delay: ({ reason }) => (reason === 'stopped' ? 0 : 1_000),
  }),
);
const answered = lastValueFrom(steps$, { defaultValue: undefined });

async function changeYourMind(): Promise<void> {
  while (!stop.signal.aborted) {
    const room = ['kitchen', 'hall', 'attic', 'cellar'][Math.floor(Math.random() * 4)] ?? 'hall';
    desired.set(room, Math.floor(Math.random() * 10));
    await broker.publish(`lamps.${room}`);
    await sleep(150);
  }
}

const changing = changeYourMind();
await controller.run(stop.signal);
await Promise.all([changing, answered]);
const { num_pending, num_ack_pending } = await manager.consumers.info('lamps', 'switch');
console.log(
  `${String(counts.acked)} acknowledged, ${String(counts.given)} given back; the broker keeps ${String(num_pending + num_ack_pending)} for the next start`,
);
await connection.drain();
await server.stop();
