import { IdState } from '../../../operators/id-state.js';
import type { Step } from '../../../operators/types.js';
import type { WorkerMetrics } from './worker-metrics.js';

/** What the steps of one id so far say about it, for the gauges, and for how long it takes to converge. */
export class MeasuredId {
  readonly #id = new IdState();
  /** When the first event came that no success has served yet. */
  #since: number | undefined;
  /** When the first event came during the run in hand, which cannot serve it. */
  #later: number | undefined;
  #startedAt = 0;

  constructor(readonly worker: WorkerMetrics) {}

  /** Nothing is left of it to be remembered. */
  get isOver(): boolean {
    return this.#id.counted === 'idle' && this.#since === undefined;
  }

  /** When the oldest event came that no success has served yet. */
  get unservedSince(): number | undefined {
    return this.#since ?? this.#later;
  }

  /** When the run in hand began. */
  get runningSince(): number | undefined {
    return this.#id.state === 'running' ? this.#startedAt : undefined;
  }

  /** Takes the next step, and returns how long it took to converge, in ms, if it now has. */
  follow(step: Step): number | undefined {
    this.#count(-1);
    const isRunning = this.#id.state === 'running';
    this.#id.follow(step);
    this.#count(1);
    switch (step.kind) {
      case 'enqueued':
        // An event or, without a trigger, a mark or a wake-up: marks are known of already.
        if (step.trigger !== undefined) this.#since ??= step.at;
        return undefined;
      case 'merged':
        if (isRunning) this.#later ??= step.at;
        else this.#since ??= step.at;
        return undefined;
      case 'started':
        this.#startedAt = step.at;
        return undefined;
      case 'succeeded':
        return this.#converge(step.at);
      case 'requeued':
        if (step.failure === undefined) return this.#converge(step.at);
        // The retry serves those that came during the run as well.
        this.#since ??= this.#later;
        this.#later = undefined;
        return undefined;
      case 'dropped':
        if (step.reason === 'delay_queue_full' && step.failure === undefined) return this.#converge(step.at);
        this.#forget();
        return undefined;
      default:
        return undefined;
    }
  }

  #converge(at: number): number | undefined {
    const since = this.#since;
    this.#forget();
    return since === undefined ? undefined : Math.max(at - since, 0);
  }

  /** Served, or dropped and thus given up until the next event: what came during the run is all that is left to do. */
  #forget(): void {
    this.#since = this.#later;
    this.#later = undefined;
  }

  #count(by: 1 | -1): void {
    const { counted } = this.#id;
    if (counted !== 'idle') this.worker.counts[counted] += by;
  }
}
