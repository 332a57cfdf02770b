import { expected, expectedObject } from '../expected.js';
import { Heap, type HeapNode } from '../heap.js';
import type { ReadyItem, ReadyQueue } from './ready-queue.js';
import { LinkedList, type LinkedListNode } from '../linked-list.js';

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
  expectedObject('config', config);
  const { ageing = 60_000 } = config;
  expected('ageing', ageing, 'a number of ms > 0', typeof ageing === 'number' && ageing > 0);
  return () => new PriorityQueue(ageing);
}

/** The items of one priority. They come in the order of their claims, so only the first has to be compared with those of others. */
class Level implements HeapNode {
  readonly items = new LinkedList<Linked>();
  /** The claim of the first one. */
  due = 0;
  /** When the first one came, among those of all levels. */
  order = 0;
  index = -1;

  constructor(readonly priority: number) {}
}

/** What the links do not hold of an item: its place among all that came. */
interface Place {
  readonly level: Level;
  readonly due: number;
  readonly order: number;
}

class PriorityQueue implements ReadyQueue {
  readonly #levels = new Map<number, Level>();
  readonly #heads = new Heap<Level>();
  readonly #places = new Map<ReadyItem, Place>();
  #pushed = 0;
  #last = -Infinity;

  constructor(readonly ageing: number) {}

  push(item: ReadyItem): void {
    const priority = Number.isFinite(item.priority) ? item.priority : 0;
    // A clock that was set back must not let those pass that came before (T4).
    this.#last = Math.max(this.#last, item.since);
    const level = this.#levels.get(priority) ?? new Level(priority);
    // Without ageing the time counts for nothing, and the order in which they came decides.
    const due = this.ageing === Infinity ? -priority : this.#last - priority * this.ageing;
    const place = { level, due, order: this.#pushed++ };
    this.#places.set(item, place);
    const isFirst = level.items.isEmpty;
    level.items.push(item as Linked);
    if (!isFirst) return;
    this.#levels.set(priority, level);
    this.#lead(level, place);
  }

  shift(): ReadyItem | undefined {
    const item = this.#heads.peek()?.items.first;
    if (item !== undefined) this.remove(item);
    return item;
  }

  remove(item: ReadyItem): void {
    const place = this.#places.get(item);
    if (place === undefined) return;
    this.#places.delete(item);
    const { level } = place;
    const wasFirst = level.items.first === item;
    level.items.remove(item as Linked);
    if (!wasFirst) return;
    this.#heads.remove(level);
    const { first } = level.items;
    if (first === undefined) this.#levels.delete(level.priority);
    else this.#lead(level, this.#places.get(first) as Place);
  }

  ended(): void {
    // Whoever runs does not count here.
  }

  #lead(level: Level, { due, order }: Place): void {
    level.due = due;
    level.order = order;
    this.#heads.push(level);
  }
}
