/**
 * A JetStream consumer in a process of its own: puts the last message of each id into a bucket, and fails one run in ten.
 * Says what must not be in lines on stdout, and how many messages it has acknowledged.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { jetstream, jetstreamManager, type JsMsg } from '@nats-io/jetstream';
import { Kvm } from '@nats-io/kv';
import { connect } from '@nats-io/transport-node';
import { lastValueFrom } from 'rxjs';
import { acknowledge, Controller, noopLogger, observability, TerminalError } from 'kreconciler';
import { deliveries } from '../../examples/nats/deliveries.js';

const connection = await connect({ servers: process.env['NATS_URL'] ?? '' });
const broker = jetstream(connection);
const manager = await jetstreamManager(connection);
const bucket = await new Kvm(broker).open('actual');

const running = new Set<string>();
const controller = new Controller(
  {
    leaderElectionEnabled: false,
    workerCount: 8,
    maxItemRetries: 1,
    delayResolution: 50,
    workerQueueSize: 50,
    observability: observability({ logger: noopLogger }),
  },
  async (id) => {
    if (running.has(id)) console.log(`twice at once: ${id}`);
    running.add(id);
    try {
      const last = await manager.streams.getMessage('items', { last_by_subj: `items.${id}` });
      await sleep(4 * Math.random());
      const dice = Math.random();
      if (dice < 0.1) throw new Error('bad luck');
      if (dice < 0.12) throw new TerminalError('very bad luck');
      await bucket.put(id, last?.data ?? '');
    } finally {
      running.delete(id);
    }
  },
  { items: deliveries(await broker.consumers.get('items', 'loop')) },
);

const answers = new Set<string>();
/** Each delivery of a message is answered once. */
function answer(message: JsMsg): void {
  const delivery = `${String(message.seq)}, delivery ${String(message.info.deliveryCount)}`;
  if (answers.has(delivery)) console.log(`answered twice: ${delivery}`);
  answers.add(delivery);
}

let acked = 0;
const answered = lastValueFrom(
  controller.steps.pipe(
    acknowledge<JsMsg>({
      ack: (message) => {
        answer(message);
        message.ack();
        if (++acked % 100 === 0) console.log(`acked ${String(acked)}`);
      },
      nack: (message, delay) => {
        answer(message);
        message.nak(delay);
      },
      delay: 200,
    }),
  ),
  { defaultValue: undefined },
);

const stop = new AbortController();
process.once('SIGTERM', () => stop.abort());
await controller.run(stop.signal);
await answered;
await connection.drain();
