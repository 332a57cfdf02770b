import type { Step, Trigger } from 'kreconciler/operators';

/** What the steps of an id so far say of it. */
interface Known {
  readonly worker: number;
  state: 'idle' | 'ready' | 'running' | 'waiting';
  isDirty: boolean;
  isAbandoned: boolean;
  /** Its last failure, if it is not forgotten. */
  failedAt: number | undefined;
  /** How far the clock had been set back at that failure. */
  setBack: number;
  /** When its wake-up is due at the earliest, and at the latest if nothing holds it up. */
  due: { readonly from: number; readonly to: number } | undefined;
}

interface Limits {
  readonly delayResolution: number;
  readonly delayQueueSize: number;
  readonly maxItemRetries: number;
}

/** Less than this many ms is lost where times that are no whole ms are added to a wall clock that is far from 0. */
const DUST = 1e-6;

/** The laws of S, A, Q, T and E that can be seen in the steps of one process; a step that breaks one throws. */
export class StepLaws {
  readonly #ids = new Map<string, Known>();
  readonly #running = new Map<number, string>();
  /** How far the clock has been ahead at most. */
  #ahead = 0;
  /** The events that no step has told yet. */
  readonly #arrived: Trigger[] = [];

  constructor(readonly limits: Limits) {}

  /** Nothing is left undone: no event is untold, and while no lane is busy, no id is ready, and none is dirty that could run. */
  isAtRest(at: number): boolean {
    if (this.#arrived.length > 0) return false;
    return (
      this.#running.size > 0 ||
      [...this.#ids.values()].every((known) => known.isAbandoned || (known.state !== 'ready' && !this.#isForgotten(known, at)))
    );
  }

  /** The loop is about to be given an event. */
  arrive(trigger: Trigger): void {
    this.#arrived.push(trigger);
  }

  see(step: Step, at: number): void {
    const { id, kind, worker } = step;
    const known = this.#known(id, worker);
    const law = (name: string, holds: boolean): void => {
      if (!holds) throw new Error(`${name} does not hold for \`${id}\`: ${kind} at ${at}, ${JSON.stringify({ ...known, step })}`);
    };
    // The step of an event is the next that is seen, so the events come in their order, and none is left out.
    law('A1: each event yields one step, which carries it', step.trigger === this.#arrived.shift());
    const isAnswer = kind === 'merged' || kind === 'rejected';
    law(
      'A1: what an event yields is enqueued, merged or rejected',
      step.trigger === undefined ? !isAnswer : isAnswer || (kind === 'enqueued' && step.reason === 'event'),
    );
    law('A1: its step tells of its id', step.trigger === undefined || step.trigger.id === id);
    if (kind === 'rejected') return;
    this.#ahead = Math.max(this.#ahead, step.at - at);
    // A clock that is set back between two readings cannot be seen to be: a wait may then join a tick that comes so much too early.
    const setBack = this.#ahead - (step.at - at);
    switch (kind) {
      case 'enqueued':
        law('S3: an id that is ready is there once', known.state === 'idle' || known.state === 'waiting');
        if (step.reason !== 'event' && known.due !== undefined) {
          law('T1: a wake-up is never early', at >= known.due.from - DUST);
          law('T1: a wake-up is at most a tick late', at <= known.due.to + DUST);
        }
        known.state = 'ready';
        known.due = undefined;
        break;
      case 'merged':
        law(
          'S2: only an id that will run anyway absorbs events',
          known.state !== 'idle' || known.isAbandoned || known.failedAt !== undefined,
        );
        if (known.state === 'running' || known.isAbandoned) known.isDirty = true;
        break;
      case 'started':
        law('A2: what starts was enqueued', known.state === 'ready');
        law('S1: an abandoned id does not start', !known.isAbandoned);
        law('S5: a lane runs one id at a time', !this.#running.has(worker));
        law(
          'E1: no run within the resolution after a failure',
          known.failedAt === undefined || at - known.failedAt >= this.limits.delayResolution - known.setBack - DUST,
        );
        this.#running.set(worker, id);
        known.state = 'running';
        known.isDirty = false;
        break;
      case 'succeeded':
        this.#end(worker, id, law);
        known.state = 'idle';
        known.failedAt = undefined;
        break;
      case 'requeued': {
        this.#end(worker, id, law);
        known.state = 'waiting';
        known.failedAt = step.failure === undefined ? undefined : at;
        known.setBack = setBack;
        // What is left until an earlier deadline is told by the wall clock, so once that was set it is no measure.
        known.due = step.at !== at ? undefined : { from: at + step.delay - setBack, to: at + step.delay + this.limits.delayResolution };
        const waiting = [...this.#ids.values()].filter((other) => other.state === 'waiting' && other.worker === worker).length;
        law('Q3: the waiting set is bounded', waiting <= this.limits.delayQueueSize);
        law('A3: a failure beyond the budget is dropped', step.failure === undefined || step.attempt <= this.limits.maxItemRetries + 1);
        break;
      }
      case 'dropped':
        if (known.state === 'running') this.#end(worker, id, law);
        else law('A4: what is dropped without a run was stopped', step.reason === 'stopped' && known.state !== 'idle');
        known.state = 'idle';
        known.due = undefined;
        // R4: forgotten, unless it is dirty: then it cools down first.
        known.failedAt = known.isDirty && step.failure !== undefined ? at : undefined;
        known.setBack = setBack;
        if (step.reason !== 'stopped')
          law('A3: a budget is spent before it is said to be', step.reason !== 'retries' || step.attempt > this.limits.maxItemRetries);
        break;
      case 'abandoned':
        law('O2: an id is abandoned once', !known.isAbandoned);
        known.isAbandoned = true;
        known.due = undefined;
        break;
      case 'released':
        law('O2: only what was abandoned is released', known.isAbandoned);
        known.isAbandoned = false;
        known.due = undefined;
    }
    if (kind === 'enqueued' || (kind === 'dropped' && step.reason === 'stopped')) known.isDirty = false;
  }

  /** Dirty, and its time has passed. One that was dropped waits out its embargo first, which ends with a tick. */
  #isForgotten({ state, isDirty, failedAt }: Known, at: number): boolean {
    return isDirty && state === 'idle' && (failedAt === undefined || at > failedAt + 2 * this.limits.delayResolution + DUST);
  }

  #end(worker: number, id: string, law: (name: string, holds: boolean) => void): void {
    law('A3: what ends has started', this.#running.get(worker) === id);
    this.#running.delete(worker);
  }

  #known(id: string, worker: number): Known {
    let known = this.#ids.get(id);
    if (known === undefined)
      this.#ids.set(
        id,
        (known = { worker, state: 'idle', isDirty: false, isAbandoned: false, failedAt: undefined, setBack: 0, due: undefined }),
      );
    return known;
  }
}
