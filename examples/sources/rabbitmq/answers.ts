import type { AcknowledgeConfig } from 'kreconciler';
import type { Delivery } from './queue.js';

/** What becomes of a message, for {@link acknowledge}: what was given up is a dead letter, what found no room comes again. */
export const answers: AcknowledgeConfig<Delivery> = {
  ack: (delivery) => delivery.done(),
  nack: (delivery, delay, { reason }) => {
    if (['stopped', 'full', 'delay_queue_full'].includes(reason)) delivery.again(delay);
    else delivery.bury();
  },
};
