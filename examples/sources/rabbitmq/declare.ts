import type { Channel } from 'amqplib';

/** A durable queue, and another for what is given up of it: `QUEUE.dead`. */
export async function declare(channel: Channel, queue: string): Promise<void> {
  await channel.assertQueue(`${queue}.dead`, { durable: true });
  await channel.assertQueue(queue, { durable: true, deadLetterExchange: '', deadLetterRoutingKey: `${queue}.dead` });
}
