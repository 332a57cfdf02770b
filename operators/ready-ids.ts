import { type Demand, withStreams } from './demand.js';
import { Claim, Entry, type Special } from './entry.js';
import type { IdIndex } from './id-index.js';
import { LinkedList } from './linked-list.js';
import { fifo } from './orders/fifo.js';
import { Guarded } from './orders/guarded.js';
import type { ReadyItem, ReadyQueue } from './orders/ready-queue.js';
import { trusted } from './orders/trusted.js';

/**
 * What starts next: the ids that are ready and not parked, the forced ones first and in a line of their own (W6), the others as the order
 * says.
 */
export class ReadyIds {
  readonly #forced = new LinkedList<Entry>();
  readonly #order: ReadyQueue;
  readonly #guarded: Guarded | undefined;
  /** The default order: it knows no priorities, and need not know of ends. */
  readonly #isFifo: boolean;
  /** How many items stand in the order. */
  #ordered = 0;
  #isBroken = false;

  /** @param broken - told once if `order` breaks its rules: then nothing starts any more */
  constructor(
    readonly entries: IdIndex<Entry>,
    order: () => ReadyQueue,
    broken: (why: string, cause?: unknown) => void,
  ) {
    this.#isFifo = order === fifo;
    if (!trusted.has(order)) {
      this.#guarded = new Guarded(
        order,
        (item) => this.#stands(item),
        (why, cause) => {
          this.#isBroken = true;
          broken(why, cause);
        },
      );
    }
    this.#order = this.#guarded ?? order();
  }

  get isEmpty(): boolean {
    return (this.#ordered === 0 && this.#forced.isEmpty) || this.#isBroken;
  }

  /** The order is at work, and may be asking users. What they do meanwhile must wait, for the order must not change under its hands. */
  get isAsked(): boolean {
    return this.#guarded?.isAsked === true;
  }

  push(entry: Entry): void {
    if (entry.isForced) this.#forced.push(entry);
    else this.#push(entry);
  }

  /** The next one, unless the order holds back those it has until one of its runs has ended. */
  shift(): Entry | undefined {
    if (this.#isBroken) return undefined;
    const entry = this.#forced.shift();
    if (entry === undefined) return this.#shift();
    entry.of.isForced = false;
    entry.of.chosen = undefined;
    return entry;
  }

  /** Whether the order holds a ready `entry` back until one of its runs has ended. */
  holds(entry: Readonly<Entry>): boolean {
    return !entry.isForced && this.#order.holds?.(entry) === true;
  }

  /** The run of `entry` has ended, or never began though it was given. */
  ended(entry: Entry): void {
    if (this.#isFifo) return;
    const item = entry.special === undefined ? entry : entry.special.chosen;
    if (item !== undefined) this.#order.ended(item);
  }

  /** It stands in no line any more. */
  remove(entry: Entry): void {
    const { special } = entry;
    if (special?.isParked === true) {
      special.isParked = false;
    } else if (special?.isForced === true) {
      this.#forced.remove(entry);
    } else {
      this.#remove(entry);
      if (special !== undefined) this.#removeClaims(entry, special, entry);
    }
  }

  /** It goes before all others (W6). */
  force(entry: Entry): void {
    if (entry.isForced) return;
    this.remove(entry);
    entry.of.isForced = true;
    this.#forced.push(entry);
  }

  /** It is paused: it stays ready, but stands nowhere until it is pushed again. */
  park(entry: Entry): void {
    this.remove(entry);
    entry.of.isParked = true;
  }

  /** More events for a ready id. If they are more urgent, it stands in the order with that claim as well (W3). */
  askAgain(entry: Entry, demand: Demand, at: number): void {
    const { asked = demand } = entry;
    const { priority } = demand;
    const highest = (entry.special?.claims.at(-1) ?? entry).priority;
    const mayRise = this.#isFifo || entry.isForced || entry.special?.isParked === true;
    // What stands in the order must not change.
    entry.asked = withStreams(asked, demand, mayRise ? Math.max(priority, entry.priority) : entry.priority);
    if (mayRise || priority <= highest) return;
    const claim = new Claim(entry, priority, at);
    entry.of.claims.push(claim);
    this.#push(claim);
  }

  #push(item: Entry | Claim): void {
    this.#ordered++;
    this.#order.push(item);
  }

  #remove(item: ReadyItem): void {
    this.#ordered--;
    this.#order.remove(item);
  }

  #shift(): Entry | undefined {
    const item = this.#order.shift() as Entry | Claim | undefined;
    if (item === undefined) return undefined;
    this.#ordered--;
    return this.#isFifo ? (item as Entry) : this.#chosen(item);
  }

  #chosen(item: Entry | Claim): Entry {
    const entry = item instanceof Claim ? item.entry : item;
    const { special } = entry;
    if (special === undefined) return entry;
    if (item !== entry) this.#remove(entry);
    this.#removeClaims(entry, special, item);
    special.chosen = item;
    return entry;
  }

  /** Whichever claim counts, the run serves all of them. */
  #removeClaims(entry: Entry, special: Special, given: ReadyItem): void {
    const { claims } = special;
    const highest = claims.at(-1);
    if (highest === undefined) return;
    special.claims = [];
    for (const claim of claims) if (claim !== given) this.#remove(claim);
    entry.asked = { streams: entry.streams, priority: highest.priority };
  }

  #stands(item: ReadyItem): boolean {
    const entry = item instanceof Claim ? item.entry : item;
    if (!(entry instanceof Entry) || entry.state !== 'ready' || this.entries.get(entry.id, entry.hash) !== entry) return false;
    const { special } = entry;
    return (
      special === undefined ||
      (!special.isForced && !special.isParked && (item === entry || special.claims.some((claim) => claim === item)))
    );
  }
}
