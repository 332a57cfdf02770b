import type { Attributes, Counter, Meter, ObservableGauge } from '@opentelemetry/api';
import type { Failure, Step, Trigger } from '../../operators/types.js';
import type { Observe } from './gauges.js';
import { type LoopInstruments, loopInstruments, streamEventCounter } from './instruments.js';
import { Life } from './life.js';
import { Tally } from './tally.js';
import { WorkerMetrics } from './worker-metrics.js';

/** What `recordMetrics` keeps of one loop: a little for each lane and stream, and for each id until it has converged. */
export class LoopMetrics {
  /** Whether the loop leads, if that is known. */
  leading: boolean | undefined;
  readonly #instruments: LoopInstruments;
  readonly #events: Counter;
  readonly #panics: Tally;
  readonly #streams = new Map<unknown, { readonly accepted: Tally; readonly rejected: Tally }>();
  readonly #workers: WorkerMetrics[] = [];
  readonly #lives = new Map<string, Life>();

  constructor(
    meter: Meter,
    readonly attributes: Attributes,
    readonly workerName: (worker: number) => string,
  ) {
    this.#instruments = loopInstruments(meter);
    this.#events = streamEventCounter(meter);
    this.#panics = new Tally(this.#instruments.handlerPanic, attributes);
  }

  get gauges(): ObservableGauge[] {
    const { queueSize, waiting, running, abandoned, leader, oldestUnconverged } = this.#instruments;
    return [queueSize, waiting, running, abandoned, leader, oldestUnconverged];
  }

  follow(step: Step): void {
    if (step.trigger !== undefined) this.#countEvent(step.trigger, step.kind === 'rejected');
    if (step.worker < 0) return;
    const worker = this.#worker(step.worker);
    switch (step.kind) {
      case 'enqueued':
        worker.enqueued.up();
        break;
      case 'merged':
        worker.merged.up();
        break;
      case 'rejected':
        worker.full.up();
        return;
      case 'started':
        worker.started(step);
        break;
      case 'succeeded':
        worker.settled(step);
        break;
      case 'requeued':
      case 'dropped':
        worker.settled(step);
        if (isPanic(step.failure)) this.#panics.up();
        break;
      case 'abandoned':
      case 'released':
    }
    this.#followLife(step, worker);
  }

  /** Hands on what the counters have gained since the last time. */
  flush(): void {
    this.#panics.flush();
    for (const { accepted, rejected } of this.#streams.values()) {
      accepted.flush();
      rejected.flush();
    }
    this.#workers.forEach((worker) => {
      worker.flush();
    });
  }

  report(observe: Observe, now: number): void {
    const { leader, oldestUnconverged } = this.#instruments;
    this.#workers.forEach((worker) => {
      worker.report(observe);
    });
    let oldest = now;
    for (const { unservedSince = now } of this.#lives.values()) oldest = Math.min(oldest, unservedSince);
    observe(oldestUnconverged, now - oldest, this.attributes);
    if (this.leading !== undefined) observe(leader, Number(this.leading), this.attributes);
  }

  /** The loop is gone. What still ran has been handled as well, however it goes on. */
  end(now: number): void {
    for (const { worker, runningSince } of this.#lives.values()) {
      if (runningSince !== undefined) worker.handled(Math.max(now - runningSince, 0), false);
    }
    this.flush();
  }

  #countEvent({ stream }: Trigger, rejected: boolean): void {
    let tallies = this.#streams.get(stream);
    if (tallies === undefined) {
      const attributes = { ...this.attributes, stream: typeof stream === 'string' ? stream : '' };
      const tally = (error: boolean): Tally => new Tally(this.#events, { ...attributes, error });
      this.#streams.set(stream, (tallies = { accepted: tally(false), rejected: tally(true) }));
    }
    tallies[rejected ? 'rejected' : 'accepted'].up();
  }

  #worker(worker: number): WorkerMetrics {
    return (this.#workers[worker] ??= new WorkerMetrics(this.#instruments, {
      ...this.attributes,
      workerId: worker,
      workerName: this.workerName(worker),
    }));
  }

  #followLife(step: Step, worker: WorkerMetrics): void {
    let life = this.#lives.get(step.id);
    if (life === undefined) this.#lives.set(step.id, (life = new Life(worker)));
    const converged = life.follow(step);
    if (converged !== undefined) worker.converged(converged);
    if (life.isOver) this.#lives.delete(step.id);
  }
}

/** What Go would call a panic: the reconciler did not get to report its error. */
function isPanic(failure: Failure | undefined): boolean {
  return failure === 'thrown' || failure === 'invalid';
}
