import { constant, type Step, type Trigger } from 'kreconciler/operators';
import { History } from '../../operators/history.js';
import { Pauses } from '../../operators/pauses.js';
import { remembering } from '../../operators/remembering.js';
import type { Workqueue, WorkqueueConfig } from '../../operators/workqueue.js';
import type { Tick } from '../../operators/tick-grid.js';
import type { Entry } from '../../operators/entry.js';

/** The resolution of a {@link DrivenWorkqueue} unless it is given another. */
export const RESOLUTION = 100;

/** How many steps of an id its history has. */
export const REMEMBERED = 5;

/** A workqueue driven by hand: its clock stands still until a test lets it go on, and its steps are kept in an array. */
export class DrivenWorkqueue {
  readonly queue: Workqueue;
  readonly steps: Step[] = [];
  readonly armed = new Set<Tick<Entry>>();
  readonly pauses = new Pauses();
  readonly history = new History(REMEMBERED);
  /** By id: what was cut off and has not settled. */
  readonly open = new Map<string, Entry>();
  now = 0;
  #seen = 0;

  constructor(config: Partial<WorkqueueConfig> = {}) {
    const defaults = { maxItemRetries: 3, workerQueueSize: 10, delayQueueSize: 10, delayResolution: RESOLUTION, backoff: constant(300) };
    this.queue = new (remembering(this.history))(
      0,
      { ...defaults, ...config },
      this.steps,
      (tick) => {
        this.armed.add(tick);
        return () => {
          this.armed.delete(tick);
        };
      },
      this.pauses,
    );
  }

  offer(id: string, stream?: string): this {
    this.queue.offer(stream === undefined ? { id } : { id, stream }, this.now);
    return this;
  }

  /** An event that is more than an id and a stream. */
  ask(trigger: Trigger): this {
    this.queue.offer(trigger, this.now);
    return this;
  }

  pause(id?: string): this {
    this.pauses.pause(id, undefined);
    if (id !== undefined) this.queue.pause(id);
    return this;
  }

  resume(id?: string): this {
    if (this.pauses.resume(id)) this.queue.resume(id, this.now);
    return this;
  }

  discard(id: string): this {
    this.queue.discard(id, this.now);
    return this;
  }

  start(): this {
    this.queue.start(this.now);
    return this;
  }

  succeed(requeueDelay = 0, id?: string): this {
    this.queue.succeed(this.running(id), requeueDelay, this.now);
    return this;
  }

  fail(...errors: [error?: unknown]): this {
    this.queue.fail(this.running(), { failure: 'thrown', error: given(errors, 'broken') }, this.now);
    return this;
  }

  /** The run takes too long, and its promise is still open. */
  abandon(...errors: [error?: unknown]): this {
    return this.abandonRun(undefined, given(errors, 'late'));
  }

  abandonRun(id: string | undefined, error: unknown): this {
    const entry = this.running(id);
    this.open.set(entry.id, entry);
    this.queue.fail(entry, { failure: 'timeout', error }, this.now, true);
    return this;
  }

  release(id: string): this {
    const entry = this.open.get(id);
    if (entry === undefined) throw new Error(`${id} is not abandoned`);
    this.open.delete(id);
    this.queue.release(entry, this.now);
    return this;
  }

  stop(): this {
    this.queue.close('stopped', this.now);
    return this;
  }

  reset(open = false): this {
    this.queue.reset(this.now);
    for (const entry of this.allRunning) {
      if (open) this.open.set(entry.id, entry);
      this.queue.cut(entry, this.now, open);
    }
    return this;
  }

  giveUp(): this {
    this.open.clear();
    this.queue.giveUp(this.now);
    return this;
  }

  /** Time goes on by `ms`, and each armed tick that is due by then is fired at its moment. */
  advance(ms: number): this {
    const end = this.now + ms;
    for (let tick = this.#next(); tick !== undefined && tick.due <= end; tick = this.#next()) {
      this.now = Math.max(this.now, tick.due);
      this.armed.delete(tick);
      this.queue.wake(tick, this.now);
    }
    this.now = end;
    return this;
  }

  /** The steps since the last call. */
  take(): Step[] {
    const steps = this.steps.slice(this.#seen);
    this.#seen = this.steps.length;
    return steps;
  }

  /** The steps since the last call, as one short line each. */
  told(): string[] {
    return this.take().map(line);
  }

  stateOf(id: string): string {
    for (const entry of this.queue.entries.values()) if (entry.id === id) return entry.state;
    return 'idle';
  }

  #next(): Tick<Entry> | undefined {
    return [...this.armed].sort((a, b) => a.due - b.due)[0];
  }

  get allRunning(): Entry[] {
    return this.queue.entries.values().filter(({ state }) => state === 'running');
  }

  /** The only one that runs, or the one of that id. */
  running(id?: string): Entry {
    const [entry] = this.allRunning.filter((each) => id === undefined || each.id === id);
    if (entry === undefined) throw new Error(`${id === undefined ? 'No id is' : `${id} is not`} running`);
    return entry;
  }
}

/** `undefined` is an error like any other, so a default parameter will not do. */
function given(errors: readonly unknown[], otherwise: unknown): unknown {
  return errors.length > 0 ? errors[0] : otherwise;
}

/** `requeued a, attempt 1, delay 300`: what distinguishes a step from others of its kind, and no times. */
function line(step: Step): string {
  const said = [`${step.kind} ${step.id}`];
  if ('reason' in step) said.push(step.reason);
  if ('attempt' in step) said.push(`attempt ${step.attempt}`);
  if ('delay' in step) said.push(`delay ${step.delay}`);
  return said.join(', ');
}
