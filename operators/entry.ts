import type { Attempt } from './attempt.js';
import { type Demand, NO_STREAMS } from './demand.js';
import type { IdNode } from './id-index.js';
import type { LinkedListNode } from './linked-list.js';
import type { ReadyItem } from './orders/ready-queue.js';
import type { Tick } from './tick-grid.js';
import type { Reason } from './types.js';

/** What an id is not to do before a tick (E1, W5), and what is remembered of its failures. */
export interface Hold {
  /** Failures in a row that count; 0 if it rests, or was dropped while dirty and starts afresh. */
  readonly failures: number;
  /** It does not run before this tick, whatever arrives but `force`. */
  readonly notBefore: Tick<Entry>;
  /** When its retry is due; an event may let it run before. `undefined` unless it has failed. */
  readonly deadline: Tick<Entry> | undefined;
  /** It became ready before its deadline: should that run fail, it spends nothing and the deadline stands. */
  early: boolean;
}

/** What few ids need, so that the others do not pay for it. */
export class Special {
  /** It runs next, whatever the order says; of a running or abandoned id: its mark does. */
  isForced = false;
  /** It is ready, but was taken out of the line because it is paused. */
  isParked = false;
  /** It was discarded during its run, which ends as while stopping (C3). */
  isDiscarded = false;
  /** And it was dirty then: that mark gets its two steps when the run has ended. */
  hasDiscardedMark = false;
  /** What stands in the order besides the entry itself: later events, each with a higher priority than all before. */
  claims: Claim[] = [];
  /** Which of these the order chose for the run; `undefined`: the run is forced, and the order knows nothing of it. */
  chosen: ReadyItem | undefined;

  constructor(entry: Entry) {
    this.chosen = entry;
  }
}

/** An id that is not idle. It is in exactly one state, and in at most one list: those that are ready, or a tick's members. */
export class Entry implements LinkedListNode<Entry>, IdNode<Entry>, ReadyItem {
  previous: Entry | undefined = undefined;
  next: Entry | undefined = undefined;
  nextInBucket: Entry | undefined = undefined;
  sequence = 0;
  state: 'ready' | 'waiting' | 'running' | 'abandoned' = 'ready';
  reason: Reason = 'event';
  /** The events that ask for the next run, or the one that is on, since the last success or drop; `undefined`: there were none. */
  asked: Demand | undefined = undefined;
  /** Those that came while it could not become ready: running, abandoned, resting, paused. */
  dirty: Demand | undefined = undefined;
  /** Since when it is ready or running. */
  since = 0;
  /** Which size it counts against; `rest`: it would be idle, but may not run yet. A string in any case: it compares faster than `undefined`. */
  counts: 'none' | 'ready' | 'waiting' | 'rest' = 'none';
  hold: Hold | undefined = undefined;
  /** The wake-up it waits for. */
  tick: Tick<Entry> | undefined = undefined;
  special: Special | undefined = undefined;
  /** Where its run is awaited, and what that was given. */
  slot: { readonly context: Attempt | undefined } | undefined = undefined;

  constructor(
    readonly id: string,
    readonly hash: number,
  ) {}

  get priority(): number {
    return this.asked?.priority ?? 0;
  }

  /** Who asked for the next run, or the one that is on. */
  get streams(): readonly string[] {
    return this.asked?.streams ?? NO_STREAMS;
  }

  /** 1 = first run, 2 = first retry. */
  get attempt(): number {
    return (this.hold?.failures ?? 0) + 1;
  }

  /** It has failed, and neither succeeded nor been dropped since. */
  get hasFailed(): boolean {
    return this.hold?.deadline !== undefined;
  }

  get isForced(): boolean {
    return this.special?.isForced === true;
  }

  /** An event that says something new has come since its run began (W7). */
  get isSuperseded(): boolean {
    return (this.dirty !== undefined && this.dirty.priority >= 0) || this.special?.hasDiscardedMark === true;
  }

  /** Its specialties, made if there are none. */
  get of(): Special {
    return (this.special ??= new Special(this));
  }
}

/** An event with a higher priority for an id that was ready already: whichever claim is the better one counts (W3). */
export class Claim implements LinkedListNode<Claim>, ReadyItem {
  previous: Claim | undefined = undefined;
  next: Claim | undefined = undefined;

  constructor(
    readonly entry: Entry,
    readonly priority: number,
    readonly since: number,
  ) {}

  get id(): string {
    return this.entry.id;
  }
}
