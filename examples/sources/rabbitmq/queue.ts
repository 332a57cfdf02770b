import { connect, type ConsumeMessage } from 'amqplib';
import type { Trigger } from 'kreconciler';
import { Observable, Subscription, timer } from 'rxjs';
import { reconnect } from '../support/reconnect.js';
import { settled } from '../support/settled.js';

/** What is consumed, and how. */
export interface QueueConfig {
  readonly url: string;
  /** It has to be there. */
  readonly queue: string;
  /** The id that a message is about. Default its content. */
  readonly idOf?: (message: ConsumeMessage) => string;
  /** How many messages may be unanswered: the broker sends no more. Default 1_000: below `workerQueueSize`, so that few are refused. */
  readonly prefetch?: number;
  /** How often both sides send a heartbeat, in s. After two without one the connection is given up. Default 10. */
  readonly heartbeat?: number;
  /** How long after unsubscribing answers are waited for, in ms. Default 30_000, as `shutdownGrace`. */
  readonly grace?: number;
}

/** A message, and what may become of it. Once its channel is closed, nothing becomes of it: the broker delivers it again. */
export interface Delivery {
  readonly message: ConsumeMessage;
  readonly done: () => void;
  /** It goes back into the queue in `delay` ms; until then the broker counts it as unanswered. */
  readonly again: (delay: number) => void;
  /** It goes to the dead letter exchange of the queue, where that has one; else it is gone. */
  readonly bury: () => void;
}

type Event = Trigger & { readonly message: Delivery };

/**
 * Emits the messages of a queue, each to be answered. A connection that fails or is silent is made anew, with backoff.
 * Never completes, never errors.
 *
 * Unsubscribing stops the consuming at once; the connection is closed when all is answered, or after `grace` ms.
 */
export function queue(config: QueueConfig): Observable<Event> {
  return consumer(config).pipe(reconnect(`RabbitMQ, queue ${config.queue}`));
}

/** One connection, until it breaks. */
function consumer({
  url,
  queue,
  idOf = ({ content }) => content.toString(),
  prefetch = 1_000,
  heartbeat = 10,
  grace = 30_000,
}: QueueConfig): Observable<Event> {
  return new Observable<Event>((subscriber) => {
    const unanswered = new Set<Delivery>();
    const timers = new Subscription();
    const fail = (error: unknown): void => {
      // Nothing of this connection can be answered any more.
      unanswered.clear();
      timers.unsubscribe();
      subscriber.error(error);
    };
    const consume = async () => {
      const connection = await connect(withHeartbeat(url, heartbeat), { timeout: 2_000 * heartbeat });
      connection.on('error', fail).on('close', () => fail(new Error('the connection was closed')));
      const channel = await connection.createChannel();
      channel.on('error', fail).on('close', () => fail(new Error('the channel was closed')));
      await channel.prefetch(prefetch);
      const receive = (message: ConsumeMessage | null): void => {
        if (message === null) {
          fail(new Error('the queue was deleted'));
          return;
        }
        const answered = (answer: () => void) => (): void => {
          if (unanswered.delete(delivery)) answer();
        };
        const requeue = (): void => channel.nack(message, false, true);
        const delivery: Delivery = {
          message,
          done: answered(() => channel.ack(message)),
          again: (delay) => {
            if (delay === 0 || subscriber.closed) answered(requeue)();
            else answered(() => timers.add(timer(delay).subscribe(requeue)))();
          },
          bury: answered(() => channel.nack(message, false, false)),
        };
        unanswered.add(delivery);
        if (subscriber.closed) delivery.again(0);
        else subscriber.next({ id: idOf(message), message: delivery });
      };
      const { consumerTag } = await channel.consume(queue, receive);
      return async () => {
        await channel.cancel(consumerTag);
        timers.unsubscribe();
        await settled(() => unanswered.size, grace);
        // What is left goes back into the queue with it.
        await connection.close();
      };
    };
    const consuming = consume();
    consuming.catch(fail);
    return () => void consuming.then((stop) => stop()).catch(() => {});
  });
}

function withHeartbeat(url: string, seconds: number): string {
  const parsed = new URL(url);
  parsed.searchParams.set('heartbeat', String(seconds));
  return parsed.href;
}
