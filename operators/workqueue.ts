import { type Backoff, delayBy } from './backoff.js';
import { isTerminal, retryDelayOf } from './errors.js';
import { hashOf, IdIndex, type IdNode } from './id-index.js';
import { LinkedList, type LinkedListNode } from './linked-list.js';
import type { Failed } from './outcome.js';
import { type Tick, TickGrid } from './tick-grid.js';
import type { Reason, Step, Trigger } from './types.js';

/** The part of a loop's configuration that rules one lane; each field is explained at `ReconcileConfig`. */
export interface WorkqueueConfig {
  readonly maxItemRetries: number;
  readonly workerQueueSize: number;
  readonly delayQueueSize: number;
  readonly delayResolution: number;
  readonly backoff: Backoff;
}

/** What is remembered of an id from a failure until its next success (R3) or until it is dropped (R4). */
interface Retry {
  /** Failures in a row that count; 0 if the id was dropped while dirty and starts afresh after the embargo. */
  readonly failures: number;
  /** Not before this tick, whatever arrives (E1). */
  readonly notBefore: Tick<Entry>;
  /** When the retry is due. An event may let it run before: then it is early. */
  readonly deadline: Tick<Entry>;
  /** The id became ready before its deadline: should that run fail, it spends nothing and the deadline stands. */
  early: boolean;
}

const NO_STREAMS: readonly string[] = [];

/** An id that is not idle. It is in exactly one state, and in at most one list: the ready ids, or a tick's members. */
export class Entry implements LinkedListNode<Entry>, IdNode<Entry> {
  previous: Entry | undefined = undefined;
  next: Entry | undefined = undefined;
  nextInBucket: Entry | undefined = undefined;
  sequence = 0;
  state: 'ready' | 'waiting' | 'running' | 'abandoned' = 'ready';
  reason: Reason = 'event';
  /** Who asked for the next run, or the one that is on, since the last success or drop. */
  streams: readonly string[] = NO_STREAMS;
  /** Dirty: who asked while it could not start, running or abandoned. */
  dirty: readonly string[] | undefined = undefined;
  /** Since when it is ready or running. */
  since = 0;
  /** An event made it ready, so it counts against `workerQueueSize`. */
  counted = false;
  retry: Retry | undefined = undefined;
  /** The wake-up it waits for. */
  tick: Tick<Entry> | undefined = undefined;

  constructor(
    readonly id: string,
    readonly hash: number,
  ) {}

  /** 1 = first run, 2 = first retry. */
  get attempt(): number {
    return (this.retry?.failures ?? 0) + 1;
  }

  /** Dropped while dirty: it waits out its embargo, and does not count against `delayQueueSize`. */
  get isCooling(): boolean {
    return this.retry?.failures === 0;
  }
}

/**
 * The life of the ids of one lane: a pure state machine, without clock and without RxJS. Each method is one thing that
 * happens, at `at` ms; it changes the state, pushes the steps this makes to `steps`, and returns. Nothing is read back
 * from `steps`, so an array will do.
 *
 * | state | an event | its wake-up is due | its run ends well | it asks `requeueDelay` | its run fails |
 * |---|---|---|---|---|---|
 * | idle | ready; or refused if full | | | | |
 * | ready | merged | | | | |
 * | waiting | ready; or pulled forward (E1) | ready | | | |
 * | running | merged, dirty | | idle | waiting | waiting, or idle if dropped |
 * | running, dirty | merged | | ready | ready | waiting until the embargo ends |
 * | abandoned | merged, dirty | held | | | |
 *
 * Invariants: `#ready` holds just the entries in state ready, in the order in which they became so; an entry waits if
 * and only if it is a member of its `tick` (an abandoned one may be one too); one entry at most is running.
 */
export class Workqueue {
  readonly #entries = new IdIndex<Entry>();
  readonly #ready = new LinkedList<Entry>();
  readonly #ticks: TickGrid<Entry>;
  #running: Entry | undefined;
  #readyByEvent = 0;
  #waiting = 0;
  #abandoned = 0;
  #stopping = false;
  /** The last list of one stream; nearly all lists are equal to it, so one serves them all. */
  #lastStreams = NO_STREAMS;

  /** @param arm - called for each tick that someone waits for; `wake` must be called when it is due */
  constructor(
    readonly worker: number,
    readonly config: WorkqueueConfig,
    readonly steps: {
      /** Takes the next step. */
      push(step: Step): unknown;
    },
    arm: (tick: Tick<Entry>) => void,
  ) {
    this.#ticks = new TickGrid(config.delayResolution, arm);
  }

  /** How many ids are not idle. */
  get size(): number {
    return this.#entries.size;
  }

  /** How many of them are abandoned. */
  get abandoned(): number {
    return this.#abandoned;
  }

  get running(): Entry | undefined {
    return this.#running;
  }

  get hasReady(): boolean {
    return !this.#ready.isEmpty;
  }

  get entries(): Iterable<Readonly<Entry>> {
    return this.#entries.values();
  }

  /** An event. Makes exactly one of enqueued, merged, rejected (A1). */
  offer(trigger: Trigger, at: number): void {
    const { id } = trigger;
    const hash = hashOf(id);
    const entry = this.#entries.get(id, hash);
    if (entry === undefined || (entry.state === 'waiting' && entry.retry?.notBefore.fired !== false)) {
      this.#admit(entry, trigger, hash, at);
      return;
    }
    if (entry.state === 'running' || entry.state === 'abandoned') {
      entry.dirty = this.#joined(entry.dirty ?? NO_STREAMS, trigger.stream);
    } else {
      entry.streams = this.#joined(entry.streams, trigger.stream);
      if (entry.state === 'waiting') this.#pullForward(entry);
    }
    this.steps.push({ kind: 'merged', id, worker: this.worker, at, trigger });
  }

  /** The next ready id starts. It is the running one until it has succeeded or failed, or all is reset or given up. */
  start(at: number): Entry | undefined {
    const entry = this.#ready.shift();
    if (entry === undefined) return undefined;
    const { id, attempt, reason, streams } = entry;
    const waited = elapsed(entry, at);
    this.#uncount(entry);
    entry.state = 'running';
    entry.since = at;
    this.#running = entry;
    this.steps.push({ kind: 'started', id, worker: this.worker, at, attempt, reason, streams, waited });
    return entry;
  }

  /** The run ended well, and the id wants to run again after `requeueDelay` ms unless that is 0. */
  succeed(requeueDelay: number, at: number): void {
    const { entry, id, attempt, took } = this.#ended(at);
    const { worker } = this;
    this.#forget(entry);
    if (requeueDelay === 0 || entry.dirty !== undefined || this.#stopping) {
      this.steps.push({ kind: 'succeeded', id, worker, at, attempt, took });
      if (entry.dirty === undefined) this.#entries.remove(entry);
      else this.#enqueueDirty(entry, at);
    } else if (this.#waiting < this.config.delayQueueSize) {
      this.#wait(entry, 'requeue', this.#ticks.after(requeueDelay, at));
      this.steps.push({ kind: 'requeued', id, worker, at, attempt, took, delay: requeueDelay });
    } else {
      this.#entries.remove(entry);
      this.steps.push({ kind: 'dropped', id, worker, at, attempt, took, reason: 'delay_queue_full' });
    }
  }

  /** The run failed. `open`: its promise has not settled, so it may still be doing things. */
  fail({ failure, error }: Failed, at: number, open = false): void {
    const { entry, id, attempt, took } = this.#ended(at);
    const { worker } = this;
    const early = entry.retry?.early === true;
    const reason = this.#whyDropped(early ? attempt - 1 : attempt, error);
    if (reason === undefined) {
      const delay = this.#retry(entry, early ? attempt - 1 : attempt, error, at);
      this.steps.push({ kind: 'requeued', id, worker, at, attempt, took, delay, failure, error });
    } else {
      this.steps.push({ kind: 'dropped', id, worker, at, attempt, took, reason, failure, error });
      this.#forget(entry);
      if (this.#stopping) this.#dropDirty(entry, at);
      else if (entry.dirty !== undefined) this.#cool(entry, at);
    }
    this.#leave(entry, open, at);
  }

  /** A tick is due: the ids that wait for it become ready, in the order in which they came. */
  wake(tick: Tick<Entry>, at: number): void {
    tick.fire();
    for (let entry = tick.members.shift(); entry !== undefined; entry = tick.members.shift()) {
      entry.tick = undefined;
      // If a clock was set it may have been woken too soon. What has fired counts, whatever the clocks say (T4, E1).
      const { retry } = entry;
      if (retry?.notBefore.fired === false) this.#join(entry, retry.notBefore);
      else if (retry?.deadline.fired === false && entry.reason === 'retry') this.#join(entry, retry.deadline);
      else if (entry.state === 'waiting') this.#enqueueWaiting(entry, entry.reason, at);
    }
  }

  /** The promise of an abandoned run has settled: what was held up may go on. */
  release(entry: Entry, at: number): void {
    this.#abandoned--;
    this.steps.push({ kind: 'released', id: entry.id, worker: this.worker, at });
    const { retry, dirty } = entry;
    if (retry === undefined) {
      if (dirty === undefined) this.#entries.remove(entry);
      else this.#enqueueDirty(entry, at);
      return;
    }
    entry.state = 'waiting';
    this.#takeDirty(entry);
    if (entry.tick === undefined) this.#enqueueWaiting(entry, entry.reason, at);
    else if (dirty !== undefined && retry.notBefore.fired) this.#enqueueWaiting(entry, 'event', at);
    else if (dirty !== undefined) this.#pullForward(entry);
  }

  /** Nothing starts from now on: all work is dropped but the running one, which may finish (P2). */
  stop(at: number): void {
    this.#stopping = true;
    for (let entry = this.#ready.shift(); entry !== undefined; entry = this.#ready.shift()) {
      this.#uncount(entry);
      this.#pushStopped(entry, at);
      this.#forget(entry);
      this.#entries.remove(entry);
    }
    for (const entry of this.#entries.values()) {
      if (entry.state === 'running') continue;
      if (entry.isCooling) entry.dirty = entry.streams;
      else if (entry.retry !== undefined || entry.state === 'waiting') this.#pushStopped(entry, at);
      if (entry.retry !== undefined || entry.state === 'waiting') this.#unwait(entry);
      this.#forget(entry);
      this.#dropDirty(entry, at);
      if (entry.state === 'waiting') this.#entries.remove(entry);
    }
  }

  /** A term has ended (L2): all work is dropped, the running one included, and the queue goes on empty. */
  reset(at: number, open: boolean): void {
    const stopping = this.#stopping;
    this.stop(at);
    this.#stopping = stopping;
    if (this.#running === undefined) return;
    const { entry, id, attempt, took } = this.#ended(at);
    this.steps.push({ kind: 'dropped', id, worker: this.worker, at, attempt, took, reason: 'stopped' });
    this.#forget(entry);
    this.#dropDirty(entry, at);
    this.#leave(entry, open, at);
  }

  /** Nobody waits any longer for what is still running or abandoned. */
  giveUp(at: number): void {
    this.#stopping = true;
    this.reset(at, false);
    this.#entries.clear();
    this.#abandoned = 0;
  }

  /** An event for an id that may start as soon as its turn comes. Refused if full, and then its wake-up stays (Q1). */
  #admit(waiting: Entry | undefined, trigger: Trigger, hash: number, at: number): void {
    const { id } = trigger;
    const { worker } = this;
    if (this.#readyByEvent >= this.config.workerQueueSize) {
      this.steps.push({ kind: 'rejected', id, worker, at, reason: 'full', trigger });
      return;
    }
    const entry = waiting ?? new Entry(id, hash);
    if (waiting === undefined) this.#entries.add(entry);
    else this.#unwait(entry);
    entry.streams = this.#joined(entry.streams, trigger.stream);
    entry.counted = true;
    this.#readyByEvent++;
    this.#makeReady(entry, 'event', at);
    this.steps.push({ kind: 'enqueued', id, worker, at, reason: 'event', trigger });
  }

  #enqueueWaiting(entry: Entry, reason: Reason, at: number): void {
    this.#unwait(entry);
    this.#enqueue(entry, reason, at);
  }

  #enqueueDirty(entry: Entry, at: number): void {
    if (this.#stopping) {
      this.#dropDirty(entry, at);
      this.#entries.remove(entry);
    } else {
      this.#takeDirty(entry);
      this.#enqueue(entry, 'event', at);
    }
  }

  #enqueue(entry: Entry, reason: Reason, at: number): void {
    this.#makeReady(entry, reason, at);
    this.steps.push({ kind: 'enqueued', id: entry.id, worker: this.worker, at, reason });
  }

  #makeReady(entry: Entry, reason: Reason, at: number): void {
    if (entry.isCooling) this.#forgetRetry(entry);
    if (entry.retry !== undefined) entry.retry.early = !entry.retry.deadline.fired;
    entry.state = 'ready';
    entry.reason = reason;
    entry.since = at;
    this.#ready.push(entry);
  }

  #whyDropped(failures: number, error: unknown): 'stopped' | 'terminal' | 'retries' | 'delay_queue_full' | undefined {
    if (this.#stopping) return 'stopped';
    if (isTerminal(error)) return 'terminal';
    if (failures > this.config.maxItemRetries) return 'retries';
    if (this.#waiting >= this.config.delayQueueSize) return 'delay_queue_full';
    return undefined;
  }

  /** Lets `entry` wait for its retry, and returns for how long. */
  #retry(entry: Entry, failures: number, error: unknown, at: number): number {
    const { delayResolution } = this.config;
    const asked = retryDelayOf(error);
    const notBefore = this.#ticks.after(delayResolution, at);
    let deadline = entry.retry?.early === true ? entry.retry.deadline : undefined;
    let delay: number;
    if (deadline === undefined || deadline.fired) {
      delay = Math.max(asked ?? (deadline === undefined ? delayBy(this.config.backoff, failures, error, 0) : 0), delayResolution);
      deadline = this.#ticks.after(delay, at);
    } else {
      // An early run leaves the deadline where it was. No longer than it was armed for, though the clock may have been set back.
      delay = Math.max(deadline.due - Math.max(at, deadline.armedAt), delayResolution);
      if (asked !== undefined && asked > delay) {
        delay = asked;
        deadline = this.#ticks.after(asked, at);
      }
    }
    notBefore.hold();
    deadline.hold();
    this.#forgetRetry(entry);
    entry.retry = { failures, notBefore, deadline, early: false };
    this.#wait(entry, 'retry', deadline.due > notBefore.due ? deadline : notBefore);
    if (entry.dirty === undefined) return delay;
    this.#takeDirty(entry);
    this.#pullForward(entry);
    return delayResolution;
  }

  /** Dropped while dirty: forgotten but for the embargo, after which the mark makes it start afresh. */
  #cool(entry: Entry, at: number): void {
    const notBefore = this.#ticks.after(this.config.delayResolution, at);
    notBefore.hold();
    notBefore.hold();
    entry.retry = { failures: 0, notBefore, deadline: notBefore, early: false };
    this.#takeDirty(entry);
    this.#wait(entry, 'event', notBefore);
  }

  /** An event for an id under embargo: it runs as soon as the embargo ends instead of at its deadline (E1). */
  #pullForward(entry: Entry): void {
    const notBefore = entry.retry?.notBefore;
    if (notBefore === undefined || entry.tick === notBefore) return;
    entry.tick?.leave(entry);
    entry.reason = 'event';
    this.#join(entry, notBefore);
  }

  #wait(entry: Entry, reason: Reason, tick: Tick<Entry>): void {
    entry.state = 'waiting';
    entry.reason = reason;
    this.#join(entry, tick);
    if (!entry.isCooling) this.#waiting++;
  }

  #unwait(entry: Entry): void {
    if (!entry.isCooling) this.#waiting--;
    entry.tick?.leave(entry);
    entry.tick = undefined;
  }

  #join(entry: Entry, tick: Tick<Entry>): void {
    entry.tick = tick;
    tick.join(entry);
  }

  #uncount(entry: Entry): void {
    if (entry.counted) this.#readyByEvent--;
    entry.counted = false;
  }

  /** After a success (R3) or a drop (R4) the next run is the first of a new story. */
  #forget(entry: Entry): void {
    this.#forgetRetry(entry);
    entry.streams = NO_STREAMS;
  }

  #forgetRetry(entry: Entry): void {
    entry.retry?.notBefore.letGo();
    entry.retry?.deadline.letGo();
    entry.retry = undefined;
  }

  #takeDirty(entry: Entry): void {
    for (const stream of entry.dirty ?? NO_STREAMS) entry.streams = this.#joined(entry.streams, stream);
    entry.dirty = undefined;
  }

  /** A mark that will not be served gets the two steps that say so (P2). */
  #dropDirty(entry: Entry, at: number): void {
    if (entry.dirty === undefined) return;
    entry.dirty = undefined;
    this.steps.push({ kind: 'enqueued', id: entry.id, worker: this.worker, at, reason: 'event' });
    this.#pushStopped(entry, at);
  }

  #pushStopped(entry: Entry, at: number): void {
    this.steps.push({ kind: 'dropped', id: entry.id, worker: this.worker, at, attempt: entry.attempt, reason: 'stopped' });
  }

  #ended(at: number): { entry: Entry; id: string; attempt: number; took: number } {
    const entry = this.#running;
    if (entry === undefined) throw new Error('No id is running');
    this.#running = undefined;
    return { entry, id: entry.id, attempt: entry.attempt, took: elapsed(entry, at) };
  }

  /** After a run that did not succeed: held while its promise is open, forgotten if nothing is left of it (B3). */
  #leave(entry: Entry, open: boolean, at: number): void {
    if (open) {
      entry.state = 'abandoned';
      this.#abandoned++;
      this.steps.push({ kind: 'abandoned', id: entry.id, worker: this.worker, at });
    } else if (entry.state === 'running') {
      this.#entries.remove(entry);
    }
  }

  #joined(streams: readonly string[], stream: string | undefined): readonly string[] {
    if (stream === undefined || streams.includes(stream)) return streams;
    if (streams.length > 0) return [...streams, stream];
    if (this.#lastStreams[0] !== stream) this.#lastStreams = [stream];
    return this.#lastStreams;
  }
}

/** Never below 0, though the clock may have been set back. */
function elapsed({ since }: Entry, at: number): number {
  return Math.max(at - since, 0);
}
