import { LinkedList, type LinkedListNode } from '../linked-list.js';
import type { ReadyItem, ReadyQueue } from './ready-queue.js';

/** The engine's items have the links already, so that a million of them cost nothing more; those of others get them here. */
type Linked = ReadyItem & LinkedListNode<Linked>;

/**
 * First come, first served: an id runs after those that became ready before it. The default order.
 *
 * @example
 * reconcile(reconciler, { order: fifo });
 */
export function fifo(): ReadyQueue {
  const items = new LinkedList<Linked>();
  return {
    push: (item) => {
      items.push(item as Linked);
    },
    shift: () => items.shift(),
    remove: (item) => {
      items.remove(item as Linked);
    },
    ended: () => undefined,
  };
}
