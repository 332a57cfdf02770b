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
  /** The highest priority of its events since its last success or drop; `undefined`: it has had none. */
  priority: number | undefined;
  /** Ready or running since. */
  since: number;
  /** Became ready by an event that could have been refused; or, paused, was made dirty by one. */
  byEvent: boolean;
  /** Those who asked while it could not become ready. */
  dirty: string[] | undefined;
  dirtyPriority: number;
  /** It runs next, or its mark does (W6). */
  forced: boolean;
  /** Where it stands among the forced ones that are ready, or its best claim among the others (W3). */
  place: { claim: number; order: number } | undefined;
  /** Discarded during its run (C3); and it was dirty then. */
  discarded: boolean;
  discardedMark: boolean;
  /** Failures in a row that count. */
  failures: number;
  /** An event made it run before the deadline of its retry. */
  early: boolean;
  /** E1, W5: it may not run before. */
  embargo: number;
  /** When its retry is due. */
  deadline: number | undefined;
  /** When it will be woken, and when it came to wait for that. */
  wake: { at: number; order: number } | undefined;
  /** A `requeued` that neither `enqueued` nor `dropped` has answered yet (A4). */
  requeued: boolean;
}

type Told = { readonly kind: Step['kind']; readonly id: string } & Readonly<Record<string, unknown>>;

/**
 * The table and the laws of an id's life, written down once more and as plainly as possible: one record an id, one number
 * a moment, everything searched for and nothing indexed. It shares no code with the workqueue.
 */
export class WorkqueueModel {
  readonly ids = new Map<string, Id>();
  readonly paused = new Set<string>();
  loopPaused = false;
  steps: Told[] = [];
  #closing: 'stopped' | 'moved' | undefined;
  #order = 0;
  #last = -Infinity;

  /** @param ageing - of `byPriority`; `undefined`: the order is first come, first served */
  constructor(
    readonly config: WorkqueueConfig,
    readonly retryDelayOf: (error: unknown) => number | undefined,
    readonly isTerminal: (error: unknown) => boolean,
    readonly ageing?: number,
  ) {}

  get running(): string[] {
    return [...this.ids].filter(([, { state }]) => state === 'running').map(([name]) => name);
  }

  get hasReady(): boolean {
    return !this.loopPaused && [...this.ids.values()].some(({ place }) => place !== undefined);
  }

  get abandoned(): string[] {
    return [...this.ids].filter(([, { state }]) => state === 'abandoned').map(([name]) => name);
  }

  /** Those who only rest: idle but for their embargo. */
  get resting(): number {
    return [...this.ids.values()].filter(({ state, dirty, requeued }) => state === 'waiting' && dirty === undefined && !requeued).length;
  }

  /** The next moment at which someone is woken. */
  get nextWake(): number | undefined {
    const moments = [...this.ids.values()].flatMap(({ wake }) => (wake === undefined ? [] : [wake.at]));
    return moments.length === 0 ? undefined : Math.min(...moments);
  }

  /** @returns whether it supersedes the run of its id (W7) */
  offer(trigger: Trigger, at: number): boolean {
    const { id: name, priority = 0, force = false } = trigger;
    const id = this.ids.get(name);
    const supersedes = id?.state === 'running' && priority >= 0;
    if (this.#isPaused(name)) {
      // W6, C1
      if (force) return this.#reject(trigger, 'paused', at);
      if (id === undefined && this.#isFull()) return this.#reject(trigger, 'full', at);
      if (id?.state === 'ready') this.#ask(id, trigger, at);
      else this.#mark(id ?? this.#waitForResume(name), trigger);
      this.#tell('merged', name, at, { trigger });
      return supersedes;
    }
    const allowed = id === undefined || (id.state === 'waiting' && at >= id.embargo);
    // W8: what says nothing new pulls no retry forward.
    const wanted = priority >= 0 || id?.deadline === undefined;
    if (id === undefined || (id.state === 'waiting' && (force || (allowed && wanted)))) {
      // Q1
      if (!force && this.#isFull()) return this.#reject(trigger, 'full', at);
      const known = id ?? this.#idle(name);
      this.#takeDirty(known);
      this.#join(known.streams, trigger);
      known.priority = Math.max(priority, known.priority ?? -Infinity);
      known.forced = force;
      known.byEvent = !force;
      this.#enqueue(name, known, 'event', at, { trigger });
      return false;
    }
    if (id.state === 'ready') {
      // First, so that the order, which never hears of it, is asked for no place for it.
      if (force && !id.forced) Object.assign(id, { forced: true, place: this.#stand({ ...id, forced: true }, at) });
      this.#ask(id, trigger, at);
    } else if (id.state === 'running' || id.state === 'abandoned' || (id.deadline === undefined && !id.requeued)) {
      this.#mark(id, trigger);
      if (force) id.forced = true;
    } else {
      this.#join(id.streams, trigger);
      id.priority = Math.max(priority, id.priority ?? -Infinity);
      if (wanted) this.#pullForward(id);
    }
    this.#tell('merged', name, at, { trigger });
    return supersedes;
  }

  start(at: number): void {
    if (this.loopPaused) return;
    const standing = [...this.ids].filter(([, { place }]) => place !== undefined);
    standing.sort(
      ([, a], [, b]) => Number(b.forced) - Number(a.forced) || a.place!.claim - b.place!.claim || a.place!.order - b.place!.order,
    );
    const [name, id] = standing[0] ?? [];
    if (name === undefined || id === undefined) return;
    const waited = at - id.since;
    Object.assign(id, { state: 'running', since: at, byEvent: false, place: undefined, forced: false, discarded: false });
    this.#tell('started', name, at, { attempt: id.failures + 1, reason: id.reason, streams: [...id.streams], waited });
  }

  succeed(name: string, requeueDelay: number, at: number): void {
    const id = this.#id(name);
    const ended = { attempt: id.failures + 1, took: at - id.since };
    const { cooldown = 0 } = this.config;
    const { dirty, dirtyPriority, forced, discarded } = id;
    if (dirty !== undefined || requeueDelay === 0 || this.#closing !== undefined || discarded) {
      this.#tell('succeeded', name, at, ended);
      this.#answerDiscarded(name, id, at);
      // R3
      const fresh = Object.assign(this.#idle(name), { state: 'waiting' as const, dirty, dirtyPriority, forced });
      // W5
      if (cooldown > 0 && !discarded && this.#closing === undefined) this.#embargo(fresh, this.#tick(at + cooldown));
      this.#proceed(name, fresh, at);
    } else if (this.#tooManyWait()) {
      this.#tell('dropped', name, at, { ...ended, reason: 'delay_queue_full' });
      this.ids.delete(name);
    } else {
      const delay = Math.max(requeueDelay, cooldown);
      this.#tell('requeued', name, at, { ...ended, delay });
      const fresh = Object.assign(this.#idle(name), { state: 'waiting' as const });
      if (cooldown > 0) fresh.embargo = this.#tick(at + cooldown);
      Object.assign(fresh, { reason: 'requeue', requeued: true, wake: this.#wakeAt(this.#tick(at + delay)) });
    }
  }

  fail(name: string, { failure, error }: Failed, at: number, open: boolean): void {
    const id = this.#id(name);
    const ended = { attempt: id.failures + 1, took: at - id.since };
    const embargo = this.#tick(at + this.config.delayResolution);
    const failures = id.early || failure === 'superseded' ? id.failures : id.failures + 1;
    const reason =
      this.#closing ??
      (id.discarded
        ? 'discarded'
        : failure === 'superseded'
          ? undefined
          : this.isTerminal(error)
            ? 'terminal'
            : failures > this.config.maxItemRetries
              ? 'retries'
              : this.#tooManyWait()
                ? 'delay_queue_full'
                : undefined);
    if (reason === undefined) this.#retry(name, id, { failure, error }, failures, embargo, at, ended, open);
    else {
      this.#tell('dropped', name, at, { ...ended, reason, failure, error });
      this.#answerDiscarded(name, id, at);
      const fresh = this.#idle(name);
      Object.assign(fresh, { state: 'waiting', dirty: id.dirty, dirtyPriority: id.dirtyPriority, forced: id.forced });
      if (this.#closing !== undefined) this.#dropMark(name, fresh, this.#closing, at);
      if (fresh.dirty === undefined && !open) this.ids.delete(name);
      else if (fresh.dirty !== undefined) this.#embargo(fresh, embargo);
    }
    if (open) this.#abandon(name, at);
    else if (this.ids.get(name)?.forced === true) this.#proceed(name, this.#id(name), at);
  }

  /** It is `at`: everyone is woken whose moment has come, moment by moment, first come first served. */
  wake(at: number): void {
    const due = [...this.ids].filter(([, { wake }]) => wake !== undefined && wake.at <= at);
    due.sort(([, a], [, b]) => a.wake!.at - b.wake!.at || a.wake!.order - b.wake!.order);
    for (const [name, id] of due) {
      const moment = id.wake!.at;
      id.wake = undefined;
      // Held while abandoned.
      if (id.state === 'waiting') this.#proceed(name, id, moment);
    }
  }

  release(name: string, at: number): void {
    const id = this.#id(name);
    this.#tell('released', name, at, {});
    id.state = 'waiting';
    this.#proceed(name, id, at);
  }

  pause(name: string | undefined): void {
    if (name === undefined) {
      this.loopPaused = true;
      return;
    }
    this.paused.add(name);
    const id = this.ids.get(name);
    if (id?.state === 'ready') id.place = undefined;
  }

  resume(name: string | undefined, at: number): void {
    if (name === undefined) this.loopPaused = false;
    else this.paused.delete(name);
    for (const [each, id] of [...this.ids]) {
      if ((name !== undefined && each !== name) || this.#isPaused(each)) continue;
      if (id.state === 'waiting') this.#proceed(each, id, at);
      else if (id.state === 'ready' && id.place === undefined) id.place = this.#stand(id, id.since);
    }
  }

  discard(name: string, at: number): void {
    const id = this.ids.get(name);
    if (id?.state === 'running') {
      Object.assign(id, { discarded: true, discardedMark: id.discardedMark || id.dirty !== undefined, dirty: undefined, forced: false });
    } else if (id !== undefined) this.#drop(name, id, 'discarded', at);
  }

  dropPaused(at: number): void {
    for (const [name, id] of [...this.ids]) if (id.state !== 'running' && this.#isPaused(name)) this.#drop(name, id, 'stopped', at);
  }

  close(closing: 'stopped' | 'moved', at: number): void {
    this.#closing = closing;
    for (const [name, id] of [...this.ids]) if (id.state !== 'running') this.#drop(name, id, closing, at);
  }

  reopen(): void {
    this.#closing = undefined;
  }

  reset(at: number, open: boolean): void {
    const closing = this.#closing;
    this.close(closing ?? 'stopped', at);
    for (const running of this.running) {
      const id = this.#id(running);
      this.#tell('dropped', running, at, { reason: closing ?? 'stopped', attempt: id.failures + 1, took: at - id.since });
      const { dirty } = id;
      this.#answerDiscarded(running, id, at);
      const fresh = this.#idle(running);
      fresh.dirty = dirty;
      this.#dropMark(running, fresh, closing ?? 'stopped', at);
      if (open) this.#abandon(running, at);
      else this.ids.delete(running);
    }
    this.#closing = closing;
  }

  giveUp(at: number): void {
    this.#closing ??= 'stopped';
    this.reset(at, false);
    this.ids.clear();
  }

  /** E1, R2, W7 and the cell "running, dirty" x "its run fails". */
  #retry(name: string, id: Id, failed: Failed, failures: number, embargo: number, at: number, ended: object, open: boolean): void {
    const { delayResolution } = this.config;
    const superseded = failed.failure === 'superseded';
    const own = superseded ? undefined : this.retryDelayOf(failed.error);
    let delay = Math.max(own ?? (id.early || superseded ? 0 : this.#backoff(failures, failed.error)), delayResolution);
    let deadline = this.#tick(at + delay);
    if (id.early && at < id.deadline!) {
      const left = Math.max(id.deadline! - at, delayResolution);
      if (own === undefined || own <= left) [delay, deadline] = [left, id.deadline!];
    }
    const pulls = id.dirty !== undefined && id.dirtyPriority >= 0;
    const next = id.dirty !== undefined && id.forced && !open && !this.#isPaused(name);
    if (next) delay = 0;
    else if (pulls) delay = delayResolution;
    this.#tell('requeued', name, at, superseded ? { ...ended, delay, failure: 'superseded' } : { ...ended, delay, ...failed });
    Object.assign(id, { state: 'waiting', reason: 'retry', failures, embargo, deadline, requeued: true, early: false });
    if (!next) this.#takeDirty(id);
    id.wake = this.#wakeAt(Math.max(deadline, embargo));
    if (pulls) this.#pullForward(id);
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

  /** Not before `embargo`, and with nothing to wait for but that. */
  #embargo(id: Id, embargo: number): void {
    id.embargo = embargo;
    id.wake = this.#wakeAt(embargo);
  }

  /** What nothing holds up any more goes on: it is ready, waits on, is dropped because nothing starts any more, or is idle. */
  #proceed(name: string, id: Id, at: number): void {
    if (id.dirty === undefined && !id.requeued) {
      if (id.wake === undefined) this.ids.delete(name);
    } else if (this.#closing !== undefined) {
      this.#dropMark(name, id, this.#closing, at);
      this.ids.delete(name);
    } else if (!this.#isPaused(name)) {
      const allowed = at >= id.embargo;
      if (id.forced) this.#enqueue(name, id, 'event', at);
      else if (id.requeued && id.wake === undefined) this.#enqueue(name, id, id.reason, at);
      else if (id.dirty !== undefined) {
        const pulls = id.deadline === undefined || id.dirtyPriority >= 0;
        if (pulls && allowed) this.#enqueue(name, id, 'event', at);
        else if (id.requeued) {
          this.#takeDirty(id);
          if (pulls) this.#pullForward(id);
        }
      }
    }
  }

  #enqueue(name: string, id: Id, reason: Id['reason'], at: number, more: object = {}): void {
    this.#takeDirty(id);
    const early = id.deadline !== undefined && at < id.deadline;
    Object.assign(id, { state: 'ready', reason, since: at, early, wake: undefined, requeued: false });
    if (id.deadline === undefined) Object.assign(id, { embargo: -Infinity });
    id.place = this.#stand(id, at);
    this.#tell('enqueued', name, at, { reason, ...more });
  }

  /** W6: the forced ones stand in a line of their own. */
  #stand(id: Id, at: number): Id['place'] {
    return id.forced ? { claim: 0, order: this.#order++ } : this.#claim(id, at);
  }

  /** W3 */
  #claim({ priority = 0 }: Pick<Id, 'priority'>, at: number): Id['place'] {
    this.#last = Math.max(this.#last, at);
    const order = this.#order++;
    return { claim: this.ageing === undefined ? order : this.#last - priority * this.ageing, order };
  }

  /** One more event for a ready id: it has the best claim of its events. */
  #ask(id: Id, trigger: Trigger, at: number): void {
    const { priority = 0 } = trigger;
    this.#join(id.streams, trigger);
    const highest = id.priority ?? 0;
    id.priority = Math.max(priority, highest);
    if (priority <= highest) return;
    if (id.place === undefined || id.forced) return;
    const claim = this.#claim(id, at)!;
    if (claim.claim < id.place.claim) id.place = claim;
  }

  #mark(id: Id, trigger: Trigger): void {
    const { priority = 0 } = trigger;
    id.dirtyPriority = id.dirty === undefined ? priority : Math.max(priority, id.dirtyPriority);
    id.dirty ??= [];
    this.#join(id.dirty, trigger);
  }

  #takeDirty(id: Id): void {
    if (id.dirty === undefined) return;
    for (const stream of id.dirty) this.#join(id.streams, { stream });
    id.priority = Math.max(id.dirtyPriority, id.priority ?? -Infinity);
    id.dirty = undefined;
  }

  /** A mark that is not served gets the two steps that say so. */
  #dropMark(name: string, id: Id, reason: string, at: number): void {
    if (id.dirty === undefined) return;
    id.dirty = undefined;
    id.forced = false;
    this.#tell('enqueued', name, at, { reason: 'event' });
    this.#tell('dropped', name, at, { reason, attempt: 1 });
  }

  #answerDiscarded(name: string, { discardedMark }: Id, at: number): void {
    if (discardedMark) this.#dropMark(name, Object.assign(this.#idle(name), { dirty: [] }), 'discarded', at);
  }

  #drop(name: string, id: Id, reason: string, at: number): void {
    if (id.state === 'ready' || id.requeued) this.#tell('dropped', name, at, { reason, attempt: id.failures + 1 });
    this.#dropMark(name, id, reason, at);
    // S1: it stays abandoned until it settles.
    if (id.state === 'abandoned') this.#idle(name).state = 'abandoned';
    else this.ids.delete(name);
  }

  #abandon(name: string, at: number): void {
    const id = this.ids.get(name) ?? this.#idle(name);
    id.state = 'abandoned';
    this.#tell('abandoned', name, at, {});
  }

  #waitForResume(name: string): Id {
    return Object.assign(this.#idle(name), { state: 'waiting' as const, byEvent: true });
  }

  #reject(trigger: Trigger, reason: string, at: number): false {
    this.#tell('rejected', trigger.id, at, { reason, trigger });
    return false;
  }

  /** An id as new, in the place of what was known of it. */
  #idle(name: string): Id {
    const id: Id = {
      state: 'ready',
      reason: 'event',
      streams: [],
      priority: undefined,
      since: 0,
      byEvent: false,
      dirty: undefined,
      dirtyPriority: 0,
      forced: false,
      place: undefined,
      discarded: false,
      discardedMark: false,
      failures: 0,
      early: false,
      embargo: -Infinity,
      deadline: undefined,
      wake: undefined,
      requeued: false,
    };
    this.ids.set(name, id);
    return id;
  }

  #isPaused(name: string): boolean {
    return this.loopPaused || this.paused.has(name);
  }

  /** Q1 */
  #isFull(): boolean {
    return [...this.ids.values()].filter(({ byEvent }) => byEvent).length >= this.config.workerQueueSize;
  }

  /** Q3 */
  #tooManyWait(): boolean {
    return [...this.ids.values()].filter(({ requeued }) => requeued).length >= this.config.delayQueueSize;
  }

  /** T1 */
  #tick(at: number): number {
    return Math.ceil(at / this.config.delayResolution) * this.config.delayResolution;
  }

  #wakeAt(at: number): Id['wake'] {
    return { at, order: this.#order++ };
  }

  #join(streams: string[], { stream }: { readonly stream?: string | undefined }): void {
    if (stream !== undefined && !streams.includes(stream)) streams.push(stream);
  }

  #id(name: string): Id {
    return this.ids.get(name)!;
  }

  #tell(kind: Step['kind'], id: string, at: number, more: object): void {
    this.steps.push({ kind, id, worker: 0, at, ...more });
  }
}
