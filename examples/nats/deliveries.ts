import type { Consumer, JsMsg } from '@nats-io/jetstream';
import { defer, finalize, from, map, type Observable, switchMap } from 'rxjs';
import type { Trigger } from 'kreconciler';

/** A trigger that carries the message to be acknowledged. */
export interface Delivery extends Trigger {
  readonly message: JsMsg;
}

/**
 * What a JetStream consumer, or one that is looked up on subscription, delivers, as an event stream: the id is the last token of the subject, `services.web` says
 * `web`. The broker delivers at most `max_ack_pending` messages before it wants an answer, so no backpressure is needed.
 */
export function deliveries(consumer: Consumer | (() => Promise<Consumer>)): Observable<Delivery> {
  return defer(async () => (typeof consumer === 'function' ? await consumer() : consumer).consume()).pipe(
    switchMap((messages) => from(messages).pipe(finalize(() => void messages.close()))),
    map((message) => ({ id: message.subject.slice(message.subject.lastIndexOf('.') + 1), message })),
  );
}
