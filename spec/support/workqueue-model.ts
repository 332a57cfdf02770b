import type { Failure, Step, Trigger } from 'kreconciler/operators';
import type { WorkqueueConfig } from '../../operators/workqueue.js';

interface Failed {
  readonly failure: Failure;
  readonly error: unknown;
}

/** What the laws say of an id that is not idle. */
interface Id {
  state: 'ready' | 'waiting' | 'running' | 'abandoned';
  reason: 'event' | 'retry' | 'requeue';
  streams: string[];
  /** Ready or running since. */
  since: number;
  /** Became ready by an event that could have been refused. */
  byEvent: boolean;
  /** Those who asked during its run, or while it was abandoned. */
  dirty: string[] | undefined;
  /** Failures in a row that count. */
  failures: number;
  /** An event made it run before the deadline of its retry. */
  early: boolean;
  /** E1: it may not run before. */
  embargo: number;
  /** When its retry is due. */
  deadline: number | undefined;
  /** When it will be woken, and when it came to wait for that. */
  wake: { at: number; order: number } | undefined;
  /** A `requeued` that neither `enqueued` nor `dropped` has answered yet (A4). */
  requeued: boolean;
  /** Dropped while dirty, and not enqueued afresh yet. */
  afresh: boolean;
}

type Told = { readonly kind: Step['kind']; readonly id: string } & Readonly<Record<string, unknown>>;

/**
 * The table and the laws of an id's life, written down once more and as plainly as possible: one record an id, one number
 * a moment, everything searched for and nothing indexed. It shares no code with the workqueue.
 */
export class WorkqueueModel {
  readonly ids = new Map<string, Id>();
  steps: Told[] = [];
  #ready: string[] = [];
  #stopping = false;
  #order = 0;

  constructor(
    readonly config: WorkqueueConfig,
    readonly retryDelayOf: (error: unknown) => number | undefined,
    readonly isTerminal: (error: unknown) => boolean,
  ) {}

  get running(): string | undefined {
    return [...this.ids].find(([, { state }]) => state === 'running')?.[0];
  }

  get hasReady(): boolean {
    return this.#ready.length > 0;
  }

  get abandoned(): string[] {
    return [...this.ids].filter(([, { state }]) => state === 'abandoned').map(([name]) => name);
  }

  /** The next moment at which someone is woken. */
  get nextWake(): number | undefined {
    const moments = [...this.ids.values()].flatMap(({ wake }) => (wake === undefined ? [] : [wake.at]));
    return moments.length === 0 ? undefined : Math.min(...moments);
  }

  offer(trigger: Trigger, at: number): void {
    const name = trigger.id;
    const asks = trigger.stream === undefined ? [] : [trigger.stream];
    const id = this.ids.get(name);
    // E1 for an id that waits after a failure: allowed from the tick on at which its embargo ends.
    const mayStart = id === undefined || (id.state === 'waiting' && (id.deadline === undefined || at >= id.embargo));
    if (mayStart && !id?.afresh) {
      // Q1
      if ([...this.ids.values()].filter(({ state, byEvent }) => state === 'ready' && byEvent).length >= this.config.workerQueueSize) {
        this.#tell('rejected', name, at, { reason: 'full', trigger });
        return;
      }
      const known = id ?? this.#idle(name);
      this.#join(known.streams, asks);
      known.byEvent = true;
      this.#enqueue(name, known, 'event', at, { trigger });
      return;
    }
    const known = id;
    if (known.state === 'running' || known.state === 'abandoned') known.dirty = this.#join(known.dirty ?? [], asks);
    else this.#join(known.streams, asks);
    if (known.state === 'waiting') this.#pullForward(known);
    this.#tell('merged', name, at, { trigger });
  }

  start(at: number): void {
    const name = this.#ready.shift();
    if (name === undefined) return;
    const id = this.#id(name);
    const waited = at - id.since;
    Object.assign(id, { state: 'running', since: at, byEvent: false });
    this.#tell('started', name, at, { attempt: id.failures + 1, reason: id.reason, streams: [...id.streams], waited });
  }

  succeed(requeueDelay: number, at: number): void {
    const [name, id] = this.#run();
    const ended = { attempt: id.failures + 1, took: at - id.since };
    const { dirty } = id;
    // R3
    const fresh = this.#idle(name);
    if (dirty !== undefined || requeueDelay === 0 || this.#stopping) {
      this.#tell('succeeded', name, at, ended);
      this.#serve(name, fresh, dirty, at);
    } else if (this.#isFull()) {
      this.#tell('dropped', name, at, { ...ended, reason: 'delay_queue_full' });
      this.ids.delete(name);
    } else {
      this.#tell('requeued', name, at, { ...ended, delay: requeueDelay });
      Object.assign(fresh, { state: 'waiting', reason: 'requeue', requeued: true, wake: this.#wakeAt(this.#tick(at + requeueDelay)) });
    }
  }

  fail(failed: Failed, at: number, open: boolean): void {
    const [name, id] = this.#run();
    const ended = { attempt: id.failures + 1, took: at - id.since };
    const embargo = this.#tick(at + this.config.delayResolution);
    const failures = id.early ? id.failures : id.failures + 1;
    const reason = this.#stopping
      ? 'stopped'
      : this.isTerminal(failed.error)
        ? 'terminal'
        : failures > this.config.maxItemRetries
          ? 'retries'
          : this.#isFull()
            ? 'delay_queue_full'
            : undefined;
    if (reason === undefined) this.#retry(name, id, failed, failures, embargo, at, ended);
    else {
      this.#tell('dropped', name, at, { ...ended, reason, ...failed });
      const fresh = this.#idle(name);
      if (this.#stopping) this.#serve(name, fresh, id.dirty, at);
      else if (id.dirty !== undefined) {
        Object.assign(fresh, { state: 'waiting', reason: 'event', streams: id.dirty, embargo, afresh: true, wake: this.#wakeAt(embargo) });
      } else this.ids.delete(name);
    }
    if (open) this.#abandon(name, at);
  }

  /** It is `at`: everyone is woken whose moment has come, moment by moment, first come first served. */
  wake(at: number): void {
    const due = [...this.ids].filter(([, { wake }]) => wake !== undefined && wake.at <= at);
    due.sort(([, a], [, b]) => a.wake!.at - b.wake!.at || a.wake!.order - b.wake!.order);
    for (const [name, id] of due) {
      const moment = id.wake!.at;
      id.wake = undefined;
      // Held while abandoned.
      if (id.state === 'waiting') this.#enqueue(name, id, id.reason, moment);
    }
  }

  release(name: string, at: number): void {
    const id = this.#id(name);
    this.#tell('released', name, at, {});
    const { dirty } = id;
    if (!id.requeued && !id.afresh) {
      this.#serve(name, id, dirty, at);
      return;
    }
    id.state = 'waiting';
    id.dirty = undefined;
    this.#join(id.streams, dirty ?? []);
    const due = id.wake === undefined;
    if (due) this.#enqueue(name, id, id.reason, at);
    else if (dirty !== undefined && at >= id.embargo) this.#enqueue(name, id, 'event', at);
    else if (dirty !== undefined) this.#pullForward(id);
  }

  stop(at: number): void {
    this.#stopping = true;
    const ready = this.#ready;
    this.#ready = [];
    for (const name of ready) {
      this.#tell('dropped', name, at, { reason: 'stopped', attempt: this.#id(name).failures + 1 });
      this.ids.delete(name);
    }
    for (const [name, id] of [...this.ids]) {
      if (id.state === 'running') continue;
      if (id.requeued) this.#tell('dropped', name, at, { reason: 'stopped', attempt: id.failures + 1 });
      const owed = id.afresh ? id.streams : id.dirty;
      const { state } = id;
      this.#serve(name, this.#idle(name), owed, at);
      // S1: it stays abandoned until it settles.
      if (state === 'abandoned') this.#idle(name).state = 'abandoned';
    }
  }

  reset(at: number, open: boolean): void {
    const wasStopping = this.#stopping;
    this.stop(at);
    const running = this.running;
    if (running !== undefined) {
      const id = this.#id(running);
      this.#tell('dropped', running, at, { reason: 'stopped', attempt: id.failures + 1, took: at - id.since });
      this.#serve(running, this.#idle(running), id.dirty, at);
      if (open) this.#abandon(running, at);
    }
    this.#stopping = wasStopping;
  }

  giveUp(at: number): void {
    this.reset(at, false);
    this.#stopping = true;
    this.ids.clear();
  }

  /** E1, R2 and the cell "running, dirty" x "its run fails". */
  #retry(name: string, id: Id, failed: Failed, failures: number, embargo: number, at: number, ended: object): void {
    const { delayResolution } = this.config;
    const own = this.retryDelayOf(failed.error);
    let delay = Math.max(own ?? (id.early ? 0 : this.#backoff(failures, failed.error)), delayResolution);
    let deadline = this.#tick(at + delay);
    if (id.early && at < id.deadline!) {
      const left = Math.max(id.deadline! - at, delayResolution);
      if (own === undefined || own <= left) [delay, deadline] = [left, id.deadline!];
    }
    const { dirty } = id;
    if (dirty !== undefined) delay = delayResolution;
    this.#tell('requeued', name, at, { ...ended, delay, ...failed });
    Object.assign(id, { state: 'waiting', reason: 'retry', failures, embargo, deadline, requeued: true, early: false, dirty: undefined });
    this.#join(id.streams, dirty ?? []);
    id.wake = this.#wakeAt(Math.max(deadline, embargo));
    if (dirty !== undefined) this.#pullForward(id);
  }

  #backoff(failures: number, error: unknown): number {
    try {
      const delay: unknown = this.config.backoff(failures, error);
      return typeof delay === 'number' && Number.isFinite(delay) && delay >= 0 ? delay : this.config.delayResolution;
    } catch {
      return this.config.delayResolution;
    }
  }

  #pullForward(id: Id): void {
    if (id.wake === undefined || id.wake.at <= id.embargo) return;
    id.wake = this.#wakeAt(id.embargo);
    id.reason = 'event';
  }

  /** The mark of an id that nothing else holds up: it is ready at once; or dropped, if nothing starts any more; or it is idle. */
  #serve(name: string, id: Id, dirty: readonly string[] | undefined, at: number): void {
    if (dirty === undefined) {
      this.ids.delete(name);
    } else if (this.#stopping) {
      this.#tell('enqueued', name, at, { reason: 'event' });
      this.#tell('dropped', name, at, { reason: 'stopped', attempt: 1 });
      this.ids.delete(name);
    } else {
      id.dirty = undefined;
      this.#join(id.streams, dirty);
      this.#enqueue(name, id, 'event', at);
    }
  }

  #enqueue(name: string, id: Id, reason: Id['reason'], at: number, more: object = {}): void {
    const early = id.deadline !== undefined && at < id.deadline;
    Object.assign(id, { state: 'ready', reason, since: at, early, wake: undefined, requeued: false, afresh: false });
    this.#ready.push(name);
    this.#tell('enqueued', name, at, { reason, ...more });
  }

  #abandon(name: string, at: number): void {
    const id = this.ids.get(name) ?? this.#idle(name);
    id.state = 'abandoned';
    this.#tell('abandoned', name, at, {});
  }

  /** An id as new, in the place of what was known of it. */
  #idle(name: string): Id {
    const id: Id = {
      state: 'ready',
      reason: 'event',
      streams: [],
      since: 0,
      byEvent: false,
      dirty: undefined,
      failures: 0,
      early: false,
      embargo: -Infinity,
      deadline: undefined,
      wake: undefined,
      requeued: false,
      afresh: false,
    };
    this.ids.set(name, id);
    return id;
  }

  /** Q3 */
  #isFull(): boolean {
    return [...this.ids.values()].filter(({ requeued }) => requeued).length >= this.config.delayQueueSize;
  }

  /** T1 */
  #tick(at: number): number {
    return Math.ceil(at / this.config.delayResolution) * this.config.delayResolution;
  }

  #wakeAt(at: number): Id['wake'] {
    return { at, order: this.#order++ };
  }

  #join(streams: string[], more: readonly string[]): string[] {
    for (const stream of more) if (!streams.includes(stream)) streams.push(stream);
    return streams;
  }

  #run(): [string, Id] {
    const name = this.running!;
    return [name, this.#id(name)];
  }

  #id(name: string): Id {
    return this.ids.get(name)!;
  }

  #tell(kind: Step['kind'], id: string, at: number, more: object): void {
    this.steps.push({ kind, id, worker: 0, at, ...more });
  }
}
