import { check, checkObject } from '../check.js';
import { Heap, type HeapNode } from '../heap.js';
import { priorityOf } from '../trigger.js';
import type { ReadyItem, ReadyQueue } from './ready-queue.js';
import { LinkedList, type LinkedListNode } from '../linked-list.js';
import { trusted } from './trusted.js';

/** How {@link byPriority} orders. */
export interface ByPriorityConfig {
  /**
   * After how long an id that waits has gained one priority, in ms; Infinity: never, and then a low priority may wait for ever.
   * Default 60_000: what is one more urgent may pass what has waited less than a minute longer.
   */
  readonly ageing?: number | undefined;
}

type Linked = ReadyItem & LinkedListNode<Linked>;

/**
 * Higher priorities first, and nobody starves: an event claims its time minus `priority` times `ageing`, the least claim runs first, and
 * equal ones in the order in which they came. So an id waits at most (the highest priority - its own) times `ageing` for others
 * that come later, and then for none of them.
 *
 * A priority that is not finite counts as 0.
 *
 * @throws TypeError if `ageing` is not a number of ms > 0
 * @example
 * reconcile(reconciler, { order: byPriority({ ageing: 10_000 }) }); // and events such as { id: 'web', priority: 10 }
 */
export function byPriority(config: ByPriorityConfig = {}): () => ReadyQueue {
  checkObject('config', config);
  const { ageing = 60_000 } = config;
  check('ageing', ageing, 'a number of ms > 0', typeof ageing === 'number' && ageing > 0);
  const order = (): ReadyQueue => new PriorityQueue(ageing);
  trusted.add(order);
  return order;
}

/** The items of one priority. They come in the order of their claims, so only the first has to be compared with those of others. */
class Level implements HeapNode {
  readonly items = new LinkedList<Linked>();
  /** The claim of the first one. */
  due = 0;
  /** When the first one came: of equal claims the earlier counts. */
  order = 0;
  index = -1;

  constructor(readonly priority: number) {}
}

class PriorityQueue implements ReadyQueue {
  readonly #levels = new Map<number, Level>();
  readonly #heads = new Heap<Level>();
  /** When an item came that claims a moment before that of another one: it has stood apart for a while, or the clock was set back (T4). */
  readonly #late = new Map<ReadyItem, number>();
  #last = -Infinity;

  constructor(readonly ageing: number) {}

  push(item: ReadyItem): void {
    if (item.since < this.#last) this.#late.set(item, this.#last);
    else this.#last = item.since;
    const priority = priorityOf(item);
    let level = this.#levels.get(priority);
    if (level === undefined) this.#levels.set(priority, (level = new Level(priority)));
    level.items.push(item as Linked);
    if (level.items.first !== item) return;
    this.#claim(level, item);
    this.#heads.push(level);
  }

  shift(): ReadyItem | undefined {
    const level = this.#heads.peek();
    const item = level?.items.first;
    if (level !== undefined && item !== undefined) this.#remove(level, item);
    return item;
  }

  remove(item: ReadyItem): void {
    const level = this.#levels.get(priorityOf(item));
    if (level !== undefined) this.#remove(level, item as Linked);
  }

  ended(): void {
    // Whoever runs does not count here.
  }

  #remove(level: Level, item: Linked): void {
    if (this.#late.size > 0) this.#late.delete(item);
    const wasFirst = level.items.first === item;
    level.items.remove(item);
    if (!wasFirst) return;
    const { first } = level.items;
    if (first === undefined) {
      this.#heads.remove(level);
      this.#levels.delete(level.priority);
    } else {
      // Who comes behind claims no earlier moment.
      this.#claim(level, first);
      this.#heads.sink(level);
    }
  }

  #claim(level: Level, first: ReadyItem): void {
    const came = (this.#late.size > 0 ? this.#late.get(first) : undefined) ?? first.since;
    level.order = came;
    level.due = this.ageing === Infinity ? -level.priority : came - level.priority * this.ageing;
  }
}
