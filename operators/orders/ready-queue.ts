/** An id that is ready to run, as an order sees it. Each time an id becomes ready it is another claim; compare by identity. */
export interface ReadyItem {
  /** What is to run. */
  readonly id: string;
  /** The highest priority of the events that ask for this run, or that of one event that was added later; 0 = ordinary. */
  readonly priority: number;
  /** When it became ready, or when the event with that priority came, in ms on the scheduler's clock, which may be set back. */
  readonly since: number;
}

/**
 * Who runs next in one worker. Write one of your own for an order that {@link fifo}, {@link byPriority} and {@link fair} do not have.
 *
 * - It is asked after something happened to it, never by time: an item that it holds back without a run of its own that could end would
 *   wait for ever. So it may hold items back only while a run that it began has not ended.
 * - It must give each item that was pushed and not removed exactly once. If an id that is ready is asked for again with a higher priority,
 *   a second item of that id is pushed; once one of the two was given, the other is removed.
 * - One that throws, gives what was not pushed, or gives nothing though it could, ends the loop with an error that says so, after a stop.
 *
 * Each worker has one of its own: `order: () => new MyQueue()`.
 */
export interface ReadyQueue {
  /** `item` is ready. */
  push(item: ReadyItem): void;
  /** The item whose run starts now; `undefined` if there is none, or none may start before a run has ended. */
  shift(): ReadyItem | undefined;
  /** `item` was pushed, has not been given, and will not run, or not yet. */
  remove(item: ReadyItem): void;
  /** The run of `item`, which `shift` gave, is over, or was given up. */
  ended(item: ReadyItem): void;
  /** Whether it holds `item` back until a run has ended, though a place were free: for `inspect` only. Default: never. */
  holds?(item: ReadyItem): boolean;
}
