import { checkFunction, checkObject, checkSize } from '../check.js';
import { LinkedList, type LinkedListNode } from '../linked-list.js';
import { fifo } from './fifo.js';
import type { ReadyItem, ReadyQueue } from './ready-queue.js';

/** How {@link fair} shares a worker. */
export interface FairConfig {
  /** To whom an id belongs: a tenant, an account, an API. One that throws or answers no string counts as `''`. */
  readonly key: (id: string) => string;
  /** How many ids of one key may run at once in a worker; an integer >= 1. Default Infinity: the worker's own limit is enough. */
  readonly concurrency?: number | undefined;
  /** The order among the ids of one key. Default {@link fifo}. */
  readonly within?: (() => ReadyQueue) | undefined;
}

/**
 * Round robin over the keys that have ready ids: a key with a million of them delays another key's one id by at most one run a key.
 * With `concurrency` at most so many ids of one key run at once; a key at its limit holds no other back.
 *
 * It counts runs, not time, and in one worker: where a key is to be limited in the whole loop, let `workerHasher` send all its ids to
 * one worker, or take one worker with a `workerConcurrency`. Keys cost nothing while they have neither ready nor running ids.
 *
 * @throws TypeError if a field is out of its range; the message names it
 * @example
 * reconcile(reconciler, { workerConcurrency: 16, order: fair({ key: (id) => id.split('/')[0] ?? '', concurrency: 2 }) });
 */
export function fair(config: FairConfig): () => ReadyQueue {
  checkObject('config', config);
  const { key, concurrency = Infinity, within = fifo } = config;
  checkFunction('key', key);
  checkSize('concurrency', concurrency, 1);
  checkFunction('within', within);
  const share = Symbol();
  return () => new FairQueue(keyed(key), concurrency, within, share);
}

/** The ids of one key. */
class Share implements LinkedListNode<Share> {
  previous: Share | undefined = undefined;
  next: Share | undefined = undefined;
  ready = 0;
  running = 0;
  /** Its own order held back what it has: it is asked again when one of its runs has ended. */
  isHeld = false;
  /** Whether it stands in the round. */
  isWaiting = false;

  constructor(
    readonly key: string,
    readonly items: ReadyQueue,
  ) {}
}

/**
 * An item that is ready or runs, with its share: users may change their mind about the key of an id. A Map of a million items would take
 * longer than all else. The symbol is that of one `fair`, for one may be within another.
 */
type Shared = ReadyItem & { [share: symbol]: Share | undefined };

class FairQueue implements ReadyQueue {
  readonly #shares = new Map<string, Share>();
  /** The keys that may run something, each once, the next one first. */
  readonly #round = new LinkedList<Share>();

  constructor(
    readonly keyOf: (id: string) => string,
    readonly concurrency: number,
    readonly within: () => ReadyQueue,
    readonly share: symbol,
  ) {}

  push(item: Shared): void {
    const key = this.keyOf(item.id);
    let share = this.#shares.get(key);
    if (share === undefined) this.#shares.set(key, (share = new Share(key, this.within())));
    item[this.share] = share;
    share.items.push(item);
    share.ready++;
    share.isHeld = false;
    this.#settle(share);
  }

  shift(): ReadyItem | undefined {
    for (let share = this.#round.shift(); share !== undefined; share = this.#round.shift()) {
      share.isWaiting = false;
      const item = share.items.shift();
      if (item === undefined) {
        // What holds back though nothing of it runs has lost its ids; the engine says so in the end.
        share.isHeld = true;
        continue;
      }
      share.ready--;
      share.running++;
      this.#settle(share);
      return item;
    }
    return undefined;
  }

  remove(item: Shared): void {
    const share = item[this.share];
    if (share === undefined) return;
    item[this.share] = undefined;
    share.items.remove(item);
    share.ready--;
    this.#settle(share);
  }

  ended(item: Shared): void {
    const share = item[this.share];
    if (share === undefined) return;
    item[this.share] = undefined;
    share.items.ended(item);
    share.running--;
    share.isHeld = false;
    this.#settle(share);
  }

  holds(item: Shared): boolean {
    const share = item[this.share];
    return share !== undefined && (share.running >= this.concurrency || share.items.holds?.(item) === true);
  }

  /** In the round if it may run something, forgotten if it has nothing. */
  #settle(share: Share): void {
    const mayRun = share.ready > 0 && share.running < this.concurrency && !share.isHeld;
    if (mayRun && !share.isWaiting) this.#round.push(share);
    else if (!mayRun && share.isWaiting) this.#round.remove(share);
    share.isWaiting = mayRun;
    if (share.ready === 0 && share.running === 0) this.#shares.delete(share.key);
  }
}

/** The key of an id, whatever the user's function does. */
function keyed(key: (id: string) => string): (id: string) => string {
  return (id) => {
    try {
      const answer: unknown = key(id);
      return typeof answer === 'string' ? answer : '';
    } catch {
      return '';
    }
  };
}
