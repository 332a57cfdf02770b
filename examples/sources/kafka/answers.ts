import type { AcknowledgeConfig, Step } from 'kreconciler';
import type { Delivery } from './consumer-group.js';

type Bad = Parameters<AcknowledgeConfig<Delivery>['nack']>[2];

/** Reasons that another try may outlast; what else is rejected or dropped would be so again, and its message goes to `deadLetter`. */
const passing: readonly Bad['reason'][] = ['full', 'delay_queue_full'];

/**
 * What becomes of a message when its id was reconciled or given up, for {@link acknowledge}. Kafka cannot deliver one message
 * again, so what found no room is emitted again from memory; and what is poisonous has to be put elsewhere, for else nothing
 * after it is ever committed.
 */
export function answers(deadLetter: (delivery: Delivery, step: Step) => Promise<unknown>): AcknowledgeConfig<Delivery> {
  return {
    ack: (delivery) => delivery.done(),
    nack: async (delivery, delay, step) => {
      if (step.reason === 'stopped') delivery.leave();
      else if (passing.includes(step.reason)) delivery.again(delay);
      else await buried(delivery, step, delay);
    },
  };

  async function buried(delivery: Delivery, step: Step, delay: number): Promise<void> {
    try {
      await deadLetter(delivery, step);
      delivery.done();
    } catch (error) {
      delivery.again(delay);
      throw error;
    }
  }
}
