import type { Step } from '../../operators/types.js';
import type { WorkerMetrics } from './metrics/worker-metrics.js';

/** What the steps of one id so far say about it, for the gauges and for convergence. */
export class IdState {
  #state: 'idle' | 'ready' | 'running' | 'waiting' = 'idle';
  #abandoned = false;
  /** When the first event came that no success has served yet. */
  #since: number | undefined;
  /** When the first event came during the run in hand, which cannot serve it. */
  #later: number | undefined;
  #startedAt = 0;

  constructor(readonly worker: WorkerMetrics) {}

  /** Nothing is left of it to be remembered. */
  get isOver(): boolean {
    return this.#state === 'idle' && !this.#abandoned && this.#since === undefined;
  }

  /** When the oldest event came that no success has served yet. */
  get unservedSince(): number | undefined {
    return this.#since ?? this.#later;
  }

  /** When the run in hand began. */
  get runningSince(): number | undefined {
    return this.#state === 'running' ? this.#startedAt : undefined;
  }

  /** Takes the next step, and returns how long it took to converge, in ms, if it now has. */
  follow(step: Step): number | undefined {
    this.#count(-1);
    const converged = this.#move(step);
    this.#count(1);
    return converged;
  }

  #move(step: Step): number | undefined {
    switch (step.kind) {
      case 'enqueued':
        this.#state = 'ready';
        // An event or, without a trigger, a mark or a wake-up: marks are known of already.
        if (step.trigger !== undefined) this.#since ??= step.at;
        return undefined;
      case 'merged':
        if (this.#state === 'running') this.#later ??= step.at;
        else this.#since ??= step.at;
        return undefined;
      case 'started':
        this.#state = 'running';
        this.#startedAt = step.at;
        return undefined;
      case 'succeeded':
        this.#state = 'idle';
        return this.#converge(step.at);
      case 'requeued':
        this.#state = 'waiting';
        if (step.failure === undefined) return this.#converge(step.at);
        // The retry serves those that came during the run as well.
        this.#since ??= this.#later;
        this.#later = undefined;
        return undefined;
      case 'dropped':
        // Dropped while dirty: it waits out its embargo and starts afresh.
        this.#state = this.#later !== undefined && step.reason !== 'stopped' ? 'waiting' : 'idle';
        if (step.reason === 'delay_queue_full' && step.failure === undefined) return this.#converge(step.at);
        this.#forget();
        return undefined;
      case 'abandoned':
      case 'released':
        this.#abandoned = step.kind === 'abandoned';
        return undefined;
      case 'rejected':
      case 'paused':
      case 'resumed':
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

  /** As the workqueue sees it: an abandoned id may have a wake-up ahead, but does not count as waiting. */
  #count(by: 1 | -1): void {
    const state = this.#abandoned ? 'abandoned' : this.#state;
    if (state !== 'idle') this.worker.counts[state] += by;
  }
}
