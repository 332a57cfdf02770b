import { LinkedList, type LinkedListNode } from '../linked-list.js';
import type { ReadyItem, ReadyQueue } from './ready-queue.js';

/** The engine's items have the links already, so that a million of them cost nothing more; those of others get them here. */
type Linked = ReadyItem & LinkedListNode<Linked>;

class FifoQueue extends LinkedList<Linked> implements ReadyQueue {
  ended(): void {
    // Whoever runs does not count here.
  }
}

/**
 * First come, first served: an id runs after those that became ready before it. The default order.
 *
 * @example
 * reconcile(reconciler, { order: fifo });
 */
export function fifo(): ReadyQueue {
  return new FifoQueue();
}
