import { type Backoff, delayBy } from './backoff.js';
import type { ClockWatch } from './clock-watch.js';
import { type Demand, Demands, merged } from './demand.js';
import { Entry } from './entry.js';
import { isTerminal, retryDelayOf } from './errors.js';
import { hashOf, IdIndex } from './id-index.js';
import { fifo } from './orders/fifo.js';
import type { ReadyQueue } from './orders/ready-queue.js';
import { markedAnew } from './marked-anew.js';
import type { Failed } from './outcome.js';
import { Pauses } from './pauses.js';
import { ReadyIds } from './ready-ids.js';
import { type Tick, TickGrid } from './tick-grid.js';
import type { Dropped, Reason, Step, Trigger } from './types.js';

/** The part of a loop's configuration that rules one lane; each field is explained at `ReconcileConfig`. */
export interface WorkqueueConfig {
  readonly maxItemRetries: number;
  readonly workerQueueSize: number;
  readonly delayQueueSize: number;
  readonly delayResolution: number;
  readonly backoff: Backoff;
  readonly cooldown?: number;
  readonly order?: () => ReadyQueue;
}

/** Why work is dropped that did not fail. */
export type Closing = 'stopped' | 'moved';

/**
 * The life of the ids of one lane: a pure state machine, without clock and without RxJS. Each method is one thing that
 * happens, at `at` ms; it changes the state, pushes the steps this makes to `steps`, and returns. Nothing is read back
 * from `steps`, so an array will do.
 *
 * | state | an event | its wake-up is due | its run ends well | it asks `requeueDelay` | its run fails |
 * |---|---|---|---|---|---|
 * | idle | ready; or refused if full | | | | |
 * | ready | merged | | | | |
 * | waiting | ready; or pulled forward (E1); or dirty, if it rests (W5) | ready | | | |
 * | running | merged, dirty | | idle, or rests | waiting | waiting, or idle if dropped |
 * | running, dirty | merged | | ready | ready | waiting until the embargo ends |
 * | abandoned | merged, dirty | held | | | |
 *
 * A paused id is in one of these states too, but does not become ready: events make it dirty, its wake-up is held (C1).
 *
 * Invariants: each entry in state ready stands either in the order or, if it is forced, in the line before it, or it is parked
 * because it is paused; an entry is a member of its `tick`, if it has one, and then it is waiting or abandoned.
 */
export class Workqueue {
  /** The ids that are not idle: for others to look at. */
  readonly entries = new IdIndex<Entry>();
  readonly #ready: ReadyIds;
  readonly #demands = new Demands();
  readonly #ticks: TickGrid<Entry>;
  readonly #cooldown: number;
  #running = 0;
  #readyCount = 0;
  #readyByEvent = 0;
  #waiting = 0;
  #resting = 0;
  #abandoned = 0;
  #closing: Closing | undefined;

  /**
   * @param arm - called for each tick that someone waits for; `wake` must be called when it is due. Returns how to disarm it
   * @param pauses - what is paused in the loop; `resume` must be called after something is not any more
   * @param broken - called once if `config.order` breaks its rules; nothing starts after that
   */
  constructor(
    readonly worker: number,
    readonly config: WorkqueueConfig,
    readonly steps: {
      /** Takes the next step. */
      push(step: Step): unknown;
    },
    arm: (tick: Tick<Entry>) => () => void,
    readonly pauses = new Pauses(),
    readonly broken: (error: Error) => void = (error) => {
      throw error;
    },
    clock?: ClockWatch,
  ) {
    this.#cooldown = config.cooldown ?? 0;
    this.#ticks = new TickGrid(config.delayResolution, arm, clock);
    this.#ready = new ReadyIds(this.entries, config.order ?? fifo, (why, cause) => {
      broken(new Error(`The \`order\` of worker ${String(worker)} is broken: ${why}`, cause === undefined ? undefined : { cause }));
    });
  }

  /** How many ids are not idle; those that rest are counted. */
  get size(): number {
    return this.entries.size;
  }

  /** How many of them are abandoned. */
  get abandoned(): number {
    return this.#abandoned;
  }

  /** How many of them only rest: nothing is left to do for them. */
  get resting(): number {
    return this.#resting;
  }

  /** How many runs are on. */
  get running(): number {
    return this.#running;
  }

  /** Whether the order keeps a ready `entry` from starting until a run has ended, though a place were free. */
  holds(entry: Readonly<Entry>): boolean {
    return entry.state === 'ready' && this.#ready.holds(entry);
  }

  /** How many ids are ready. */
  get ready(): number {
    return this.#readyCount;
  }

  /** Whether `start` may have something to start. */
  get hasReady(): boolean {
    return !this.#ready.isEmpty && !this.pauses.all;
  }

  /** The order is at work: nothing may happen here before it is done. */
  get isAsking(): boolean {
    return this.#ready.isAsked;
  }

  /**
   * An event. Makes exactly one of enqueued, merged, rejected (A1).
   *
   * @returns the entry whose run it supersedes (W7)
   */
  offer(trigger: Trigger, at: number): Entry | undefined {
    const { id } = trigger;
    const hash = hashOf(id);
    const known = this.entries.get(id, hash);
    const demand = this.#demands.of(trigger);
    if (!this.pauses.isNone && this.pauses.has(id)) return this.#offerPaused(known, trigger, hash, demand, at);
    if (known !== undefined && !mayRunBy(known, trigger, demand)) return this.#merge(known, trigger, demand, at);
    this.#admit(known, trigger, hash, demand, at);
    return undefined;
  }

  /** The next ready id starts, if one may. It runs until it succeeds, fails or is cut. */
  start(at: number): Entry | undefined {
    if (this.pauses.all) return undefined;
    const entry = this.#ready.shift();
    if (entry === undefined) return undefined;
    const { id, attempt, reason, streams, special } = entry;
    const waited = elapsed(entry, at);
    if (special !== undefined) special.isDiscarded = false;
    this.#uncount(entry);
    entry.state = 'running';
    entry.since = at;
    this.#readyCount--;
    this.#running++;
    this.tell(entry, { kind: 'started', id, worker: this.worker, at, attempt, reason, streams, waited });
    return entry;
  }

  /** The run ended well, and the id wants to run again after `requeueDelay` ms unless that is 0. */
  succeed(entry: Entry, requeueDelay: number, at: number): void {
    const took = this.#ended(entry, at);
    const { id, attempt } = entry;
    this.#forget(entry);
    entry.state = 'waiting';
    if (requeueDelay > 0 && entry.dirty === undefined && this.#endingOf(entry) === undefined) {
      this.#requeue(entry, attempt, took, requeueDelay, at);
      return;
    }
    this.tell(entry, { kind: 'succeeded', id, worker: this.worker, at, attempt, took });
    if (entry.special !== undefined) this.#dropDiscardedMark(entry, at);
    if (this.#cooldown > 0 && this.#endingOf(entry) === undefined) this.#join(entry, this.#rest(entry, at));
    this.#proceed(entry, at);
  }

  /** The run failed. `open`: its promise has not settled, so it may still be doing things. */
  fail(entry: Entry, failed: Failed, at: number, open = false): void {
    const took = this.#ended(entry, at);
    const { id, attempt } = entry;
    const { worker } = this;
    const { failure, error } = failed;
    // A run that was early, or that was superseded, spends nothing.
    const failures = entry.hold?.early === true || failure === 'superseded' ? attempt - 1 : attempt;
    const reason = this.#whyDropped(entry, failures, failed);
    if (reason === undefined) {
      const delay = this.#retry(entry, failures, failed, at, open);
      if (failure === 'superseded') this.tell(entry, { kind: 'requeued', id, worker, at, attempt, took, delay, failure });
      else this.tell(entry, { kind: 'requeued', id, worker, at, attempt, took, delay, failure, error });
    } else {
      this.tell(entry, { kind: 'dropped', id, worker, at, attempt, took, reason, failure, error });
      this.#forget(entry);
      this.#dropDiscardedMark(entry, at);
      if (this.#closing !== undefined) this.#dropDirty(entry, this.#closing, at);
      else if (entry.dirty !== undefined) this.#cool(entry, at);
    }
    this.#leave(entry, open, at);
  }

  /** A tick is due: the ids that wait for it become ready, in the order in which they came. */
  wake(tick: Tick<Entry>, at: number): void {
    tick.fire(at);
    for (let entry = tick.members.shift(); entry !== undefined; entry = tick.members.shift()) {
      entry.tick = undefined;
      // If a clock was set it may have been woken too soon. What has fired counts, whatever the clocks say (T4, E1).
      const { hold } = entry;
      if (hold?.notBefore.fired === false) this.#join(entry, hold.notBefore);
      else if (hold?.deadline?.fired === false && entry.reason === 'retry') this.#join(entry, hold.deadline);
      else if (entry.state === 'waiting') this.#proceed(entry, at);
    }
  }

  /** The promise of an abandoned run has settled: what was held up may go on. */
  release(entry: Entry, at: number): void {
    this.#abandoned--;
    this.tell(entry, { kind: 'released', id: entry.id, worker: this.worker, at });
    entry.state = 'waiting';
    this.#proceed(entry, at);
  }

  /** `id`, if it was ready, is so no longer: it is paused. Called after `pauses` knows. */
  pause(id: string): void {
    const entry = this.entries.get(id);
    if (entry?.state !== 'ready') return;
    this.#ready.park(entry);
  }

  /** What held `id`, or without one the whole loop, is gone: what came or fell due meanwhile becomes ready (C1). */
  resume(id: string | undefined, at: number): void {
    if (id === undefined) {
      for (const entry of this.entries.values()) this.#resume(entry, at);
      return;
    }
    const entry = this.entries.get(id);
    if (entry !== undefined) this.#resume(entry, at);
  }

  /** Its retries, its mark and its wake-up are gone; what runs ends as while stopping (C3). */
  discard(id: string, at: number): void {
    const entry = this.entries.get(id);
    if (entry === undefined) return;
    if (entry.state === 'running') {
      const { of } = entry;
      of.isDiscarded = true;
      of.hasDiscardedMark ||= entry.dirty !== undefined;
      of.isForced = false;
      entry.dirty = undefined;
    } else {
      this.#takeOut(entry, 'discarded', at);
    }
  }

  /** Nobody can resume what is paused any more: its work is dropped, so that nobody waits for it (P1). */
  dropPaused(at: number): void {
    for (const entry of this.entries.values()) {
      if (entry.state !== 'running' && this.pauses.has(entry.id)) this.#takeOut(entry, 'stopped', at);
    }
  }

  /** Nothing starts from now on: all work is dropped but what runs, which may finish (P2, H5). */
  close(closing: Closing, at: number): void {
    this.#closing = closing;
    this.#dropAll(closing, at);
  }

  /** What `close` began is over: ids are taken again. */
  reopen(): void {
    this.#closing = undefined;
  }

  /** A term has ended (L2): all work is dropped, and the queue goes on empty. What runs is to be cut as well. */
  reset(at: number): void {
    this.#dropAll(this.#closing ?? 'stopped', at);
  }

  /** The run is given up without a failure. `open`: its promise has not settled. */
  cut(entry: Entry, at: number, open: boolean): void {
    const took = this.#ended(entry, at);
    const { id, attempt } = entry;
    const reason = this.#closing ?? 'stopped';
    this.tell(entry, { kind: 'dropped', id, worker: this.worker, at, attempt, took, reason });
    this.#forget(entry);
    this.#dropDiscardedMark(entry, at);
    this.#dropDirty(entry, reason, at);
    this.#leave(entry, open, at);
  }

  /** Nobody waits any longer for what is still running or abandoned. */
  giveUp(at: number): void {
    this.close(this.#closing ?? 'stopped', at);
    for (const entry of this.entries.values()) {
      if (entry.state === 'running') this.cut(entry, at, false);
      else this.becomeIdle(entry);
    }
    this.#abandoned = 0;
  }

  // For those who want to know more of an id.

  /** An id is not idle any more. */
  protected made(id: string, hash: number): Entry {
    return new Entry(id, hash);
  }

  /** `step` has just happened to `entry`. */
  protected tell(_entry: Entry, step: Step): void {
    this.steps.push(step);
  }

  /** It is idle. */
  protected becomeIdle(entry: Entry): void {
    this.entries.remove(entry);
  }

  /** An event for an id that may start as soon as its turn comes. Refused if full, and then its wake-up stays (Q1). */
  #admit(known: Entry | undefined, trigger: Trigger, hash: number, demand: Demand, at: number): void {
    const { id } = trigger;
    const isForced = trigger.force === true;
    if (!isForced && this.#isFull()) {
      this.#reject(known, trigger, 'full', at);
      return;
    }
    const entry = known ?? this.made(id, hash);
    if (known === undefined) this.entries.add(entry);
    else this.#unwait(entry);
    entry.asked = merged(entry.asked, demand);
    if (isForced) entry.of.isForced = true;
    else this.#count(entry);
    this.#makeReady(entry, 'event', at);
    this.tell(entry, { kind: 'enqueued', id, worker: this.worker, at, reason: 'event', trigger });
    this.#ready.push(entry);
  }

  /** An event for a paused id: a mark that counts as the event of an idle id does (C1). */
  #offerPaused(known: Entry | undefined, trigger: Trigger, hash: number, demand: Demand, at: number): Entry | undefined {
    if (trigger.force === true || (known === undefined && this.#isFull())) {
      this.#reject(known, trigger, trigger.force === true ? 'paused' : 'full', at);
      return undefined;
    }
    if (known !== undefined) return this.#merge(known, trigger, demand, at, true);
    const entry = this.made(trigger.id, hash);
    entry.state = 'waiting';
    this.entries.add(entry);
    this.#count(entry);
    return this.#merge(entry, trigger, demand, at, true);
  }

  /** An event for an id that will run anyway, or may not run yet. */
  #merge(entry: Entry, trigger: Trigger, demand: Demand, at: number, isPaused = false): Entry | undefined {
    const { state } = entry;
    const step: Step = { kind: 'merged', id: trigger.id, worker: this.worker, at, trigger };
    // First, for the same reason.
    this.tell(entry, step);
    if (state === 'ready') {
      if (trigger.force === true) this.#ready.force(entry);
      if (entry.asked !== demand) this.#ready.askAgain(entry, demand, at);
    } else if (state === 'waiting' && !isPaused && (entry.hasFailed || entry.counts === 'waiting')) {
      entry.asked = merged(entry.asked, demand);
      // One that asked to run again, and rests until then, does so sooner; a retry waits for none that says nothing new (W8).
      if (demand.priority >= 0 || !entry.hasFailed) this.#pullForward(entry);
    } else {
      if (entry.special?.hasDiscardedMark === true && entry.dirty === undefined) markedAnew.add(step);
      if (entry.counts === 'rest') this.#uncount(entry);
      entry.dirty = merged(entry.dirty, demand);
      if (trigger.force === true) entry.of.isForced = true;
    }
    return state === 'running' && demand.priority >= 0 ? entry : undefined;
  }

  #isFull(): boolean {
    return this.#readyByEvent >= this.config.workerQueueSize;
  }

  #reject(known: Entry | undefined, trigger: Trigger, reason: 'full' | 'paused', at: number): void {
    const step = { kind: 'rejected', id: trigger.id, worker: this.worker, at, reason, trigger } as const;
    if (known === undefined) this.steps.push(step);
    else this.tell(known, step);
  }

  /**
   * What waits, or has just come to an end, goes on as far as it may: it becomes ready, waits on, or is idle. The one place where
   * what held it up, its run, its promise, a pause, a rest, is looked at.
   */
  #proceed(entry: Entry, at: number): void {
    if (entry.dirty !== undefined || entry.counts === 'waiting') this.#goOn(entry, at);
    else if (entry.tick !== undefined) this.#countRest(entry);
    else this.#remove(entry);
  }

  /** There is something left to do for it. */
  #goOn(entry: Entry, at: number): void {
    const { hold } = entry;
    if (this.#closing !== undefined) {
      this.#dropDirty(entry, this.#closing, at);
      this.#remove(entry);
      return;
    }
    if (this.pauses.has(entry.id)) return;
    const mayRun = hold?.notBefore.fired !== false;
    if (entry.isForced) this.#enqueue(entry, 'event', at);
    else if (entry.counts !== 'waiting') {
      if (mayRun) this.#enqueue(entry, 'event', at);
    } else if (entry.tick === undefined) this.#enqueue(entry, entry.reason, at);
    else if (entry.dirty !== undefined && (!entry.hasFailed || entry.dirty.priority >= 0)) {
      if (mayRun) this.#enqueue(entry, 'event', at);
      else {
        this.#takeDirty(entry);
        this.#pullForward(entry);
      }
    } else this.#takeDirty(entry);
  }

  #resume(entry: Entry, at: number): void {
    if (this.pauses.has(entry.id)) return;
    if (entry.state === 'waiting') {
      this.#proceed(entry, at);
    } else if (entry.special?.isParked === true) {
      entry.special.isParked = false;
      this.#ready.push(entry);
    }
  }

  #enqueue(entry: Entry, reason: Reason, at: number): void {
    this.#unwait(entry);
    this.#makeReady(entry, reason, at);
    this.tell(entry, { kind: 'enqueued', id: entry.id, worker: this.worker, at, reason });
    this.#ready.push(entry);
  }

  /** It is to be told, and only then to be pushed: an order may ask users, and what they do must come after it. */
  #makeReady(entry: Entry, reason: Reason, at: number): void {
    entry.state = 'ready';
    entry.reason = reason;
    entry.since = at;
    this.#readyCount++;
  }

  #whyDropped(entry: Entry, failures: number, { failure, error }: Failed): Dropped['reason'] | undefined {
    const ending = this.#endingOf(entry);
    if (ending !== undefined) return ending;
    // It is dirty, and only waits for the embargo to end (Q2, W7).
    if (failure === 'superseded') return undefined;
    if (isTerminal(error)) return 'terminal';
    if (failures > this.config.maxItemRetries) return 'retries';
    if (this.#waiting >= this.config.delayQueueSize) return 'delay_queue_full';
    return undefined;
  }

  #endingOf(entry: Entry): Closing | 'discarded' | undefined {
    return this.#closing ?? (entry.special?.isDiscarded === true ? 'discarded' : undefined);
  }

  /** Lets `entry` wait for its retry, and returns for how long. */
  #retry(entry: Entry, failures: number, { failure, error }: Failed, at: number, open: boolean): number {
    const { delayResolution } = this.config;
    const asked = failure === 'superseded' ? undefined : retryDelayOf(error);
    const notBefore = this.#ticks.after(delayResolution, at);
    const known = entry.hold?.early === true ? entry.hold.deadline : undefined;
    let deadline = known;
    let delay: number;
    if (deadline === undefined || deadline.fired) {
      const isFree = known !== undefined || failure === 'superseded';
      delay = Math.max(asked ?? (isFree ? 0 : delayBy(this.config.backoff, failures, error, 0)), delayResolution);
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
    this.#forgetHold(entry);
    entry.hold = { failures, notBefore, deadline, early: false };
    this.#wait(entry, 'retry', deadline.due > notBefore.due ? deadline : notBefore);
    if (entry.dirty === undefined) return delay;
    if (entry.isForced && !open && !this.pauses.has(entry.id)) return 0;
    const pulls = entry.dirty.priority >= 0;
    this.#takeDirty(entry);
    if (!pulls) return delay;
    this.#pullForward(entry);
    return delayResolution;
  }

  /** Dropped while dirty: forgotten but for the embargo, after which the mark makes it start afresh. */
  #cool(entry: Entry, at: number): void {
    entry.state = 'waiting';
    this.#join(entry, this.#holdUntil(entry, this.#ticks.after(this.config.delayResolution, at)));
  }

  /** It ended well: not before that tick, whatever comes (W5). */
  #rest(entry: Entry, at: number): Tick<Entry> {
    return this.#holdUntil(entry, this.#ticks.after(this.#cooldown, at));
  }

  #holdUntil(entry: Entry, notBefore: Tick<Entry>): Tick<Entry> {
    notBefore.hold();
    entry.hold = { failures: 0, notBefore, deadline: undefined, early: false };
    return notBefore;
  }

  /** An event for an id under embargo: it runs as soon as the embargo ends instead of at its deadline (E1). */
  #pullForward(entry: Entry): void {
    const notBefore = entry.hold?.notBefore;
    if (notBefore === undefined || entry.tick === notBefore) return;
    entry.tick?.leave(entry);
    entry.reason = 'event';
    this.#join(entry, notBefore);
  }

  #wait(entry: Entry, reason: Reason, tick: Tick<Entry>): void {
    entry.state = 'waiting';
    entry.reason = reason;
    this.#join(entry, tick);
    entry.counts = 'waiting';
    this.#waiting++;
  }

  /** It waits no longer, and is early if its retry was not due. */
  #unwait(entry: Entry): void {
    this.#leaveTick(entry);
    this.#takeDirty(entry);
    const { hold } = entry;
    if (hold?.deadline !== undefined) hold.early = !hold.deadline.fired;
    else if (hold !== undefined) this.#forgetHold(entry);
  }

  #leaveTick(entry: Entry): void {
    // What was counted as the event of an idle id stays so until it runs.
    if (entry.counts !== 'ready') this.#uncount(entry);
    entry.tick?.leave(entry);
    entry.tick = undefined;
  }

  #join(entry: Entry, tick: Tick<Entry>): void {
    entry.tick = tick;
    tick.join(entry);
  }

  #countRest(entry: Entry): void {
    if (entry.counts !== 'none') return;
    entry.counts = 'rest';
    this.#resting++;
  }

  #count(entry: Entry): void {
    if (entry.counts !== 'ready') this.#readyByEvent++;
    entry.counts = 'ready';
  }

  #uncount(entry: Entry): void {
    if (entry.counts === 'ready') this.#readyByEvent--;
    else if (entry.counts === 'waiting') this.#waiting--;
    else if (entry.counts === 'rest') this.#resting--;
    entry.counts = 'none';
  }

  #requeue(entry: Entry, attempt: number, took: number, requeueDelay: number, at: number): void {
    const { id } = entry;
    const { worker } = this;
    if (this.#waiting < this.config.delayQueueSize) {
      const delay = Math.max(requeueDelay, this.#cooldown);
      if (this.#cooldown > 0) this.#rest(entry, at);
      this.#wait(entry, 'requeue', this.#ticks.after(delay, at));
      this.tell(entry, { kind: 'requeued', id, worker, at, attempt, took, delay });
    } else {
      this.tell(entry, { kind: 'dropped', id, worker, at, attempt, took, reason: 'delay_queue_full' });
      this.becomeIdle(entry);
    }
  }

  /** After a success (R3) or a drop (R4) the next run is the first of a new story. */
  #forget(entry: Entry): void {
    this.#forgetHold(entry);
    entry.asked = undefined;
  }

  #forgetHold(entry: Entry): void {
    const { hold } = entry;
    if (hold === undefined) return;
    hold.notBefore.letGo();
    hold.deadline?.letGo();
    entry.hold = undefined;
  }

  #takeDirty(entry: Entry): void {
    if (entry.dirty === undefined) return;
    entry.asked = merged(entry.asked, entry.dirty);
    entry.dirty = undefined;
  }

  /** A mark that will not be served gets the two steps that say so (P2, C3). */
  #dropDirty(entry: Entry, reason: Dropped['reason'], at: number): void {
    if (entry.dirty === undefined) return;
    entry.dirty = undefined;
    if (entry.special !== undefined) entry.special.isForced = false;
    this.#pushDropped(entry, reason, at);
  }

  #dropDiscardedMark(entry: Entry, at: number): void {
    if (entry.special?.hasDiscardedMark !== true) return;
    entry.special.hasDiscardedMark = false;
    this.#pushDropped(entry, 'discarded', at);
  }

  /** What a mark is told that nobody serves: the first attempt of a new story that is not begun. */
  #pushDropped(entry: Entry, reason: Dropped['reason'], at: number): void {
    const { id } = entry;
    const { worker } = this;
    this.tell(entry, { kind: 'enqueued', id, worker, at, reason: 'event' });
    const step: Step = { kind: 'dropped', id, worker, at, attempt: 1, reason };
    if (entry.dirty !== undefined) markedAnew.add(step);
    this.tell(entry, step);
  }

  /** All that an id that does not run has to do is dropped; what is abandoned stays so until its promise has settled (S1). */
  #drop(entry: Entry, reason: Dropped['reason'], at: number): void {
    if (entry.state === 'ready' || entry.counts === 'waiting') {
      this.tell(entry, { kind: 'dropped', id: entry.id, worker: this.worker, at, attempt: entry.attempt, reason });
    }
    this.#leaveTick(entry);
    this.#uncount(entry);
    this.#forget(entry);
    if (entry.state === 'ready') this.#readyCount--;
    if (entry.state !== 'abandoned') entry.state = 'waiting';
    this.#dropDirty(entry, reason, at);
    if (entry.special !== undefined) entry.special.isForced = false;
    if (entry.state !== 'abandoned') this.becomeIdle(entry);
  }

  #dropAll(reason: Dropped['reason'], at: number): void {
    // In their order, as far as it gives them.
    for (let entry = this.#ready.shift(); entry !== undefined; entry = this.#ready.shift()) {
      this.#ready.ended(entry);
      this.#drop(entry, reason, at);
    }
    for (const entry of this.entries.values()) {
      if (entry.state !== 'running') this.#takeOut(entry, reason, at);
    }
  }

  /** Drops one that may stand in the order. */
  #takeOut(entry: Entry, reason: Dropped['reason'], at: number): void {
    if (entry.state === 'ready') this.#ready.remove(entry);
    this.#drop(entry, reason, at);
  }

  #remove(entry: Entry): void {
    if (entry.counts !== 'none') this.#uncount(entry);
    this.#forgetHold(entry);
    this.becomeIdle(entry);
  }

  /** After a run that did not succeed: held while its promise is open, forgotten if nothing is left of it (B3). */
  #leave(entry: Entry, open: boolean, at: number): void {
    if (open) {
      entry.state = 'abandoned';
      this.#abandoned++;
      this.tell(entry, { kind: 'abandoned', id: entry.id, worker: this.worker, at });
    } else if (entry.state === 'running') {
      this.becomeIdle(entry);
    } else if (entry.isForced) {
      this.#proceed(entry, at);
    }
  }

  #ended(entry: Entry, at: number): number {
    if (entry.state !== 'running') throw notRunning(entry);
    this.#running--;
    this.#ready.ended(entry);
    return elapsed(entry, at);
  }
}

/** Never below 0, though the clock may have been set back. */
function elapsed({ since }: Entry, at: number): number {
  return Math.max(at - since, 0);
}

function notRunning({ id }: Entry): Error {
  return new Error(`\`${id}\` is not running`);
}

/** Whether the event lets a waiting id run: none but a forced one passes an embargo or a rest (E1, W5), a minor one no retry (W8). */
function mayRunBy(entry: Entry, { force }: Trigger, { priority }: Demand): boolean {
  if (entry.state !== 'waiting') return false;
  return force === true || (entry.hold?.notBefore.fired !== false && !(entry.hasFailed && priority < 0));
}
