import type { AcknowledgeConfig } from 'kreconciler';
import type { Delivery } from './stream-group.js';

/** What becomes of an entry, for {@link acknowledge}: what was given up is put aside, what found no room comes again. */
export const answers: AcknowledgeConfig<Delivery> = {
  ack: (delivery) => delivery.done(),
  nack: (delivery, delay, { reason }) =>
    ['stopped', 'full', 'delay_queue_full'].includes(reason) ? delivery.again(delay) : delivery.bury(reason),
};
