import type { Attributes, Counter, Meter, ObservableGauge } from '@opentelemetry/api';
import type { Step } from '../../../operators/types.js';
import type { Observe } from './gauges.js';
import { type LoopInstruments, loopInstruments, streamEventCounter } from './instruments.js';
import { IdState } from '../id-state.js';
import { BufferedCounter } from './buffered-counter.js';
import { type StreamChange, StreamMetrics } from './stream-metrics.js';
import { WorkerMetrics } from './worker-metrics.js';

/** What `recordMetrics` keeps of one loop: a little for each lane and stream, and for each id until it has converged. */
export class LoopMetrics {
  /** Whether the loop leads, if that is known. */
  leading: boolean | undefined;
  readonly #instruments: LoopInstruments;
  readonly #events: Counter;
  readonly #panics: BufferedCounter;
  readonly #streams = new Map<unknown, StreamMetrics>();
  readonly #workers: WorkerMetrics[] = [];
  readonly #lives = new Map<string, IdState>();

  constructor(
    meter: Meter,
    readonly attributes: Attributes,
    readonly workerName: (worker: number) => string,
  ) {
    this.#instruments = loopInstruments(meter);
    this.#events = streamEventCounter(meter);
    this.#panics = new BufferedCounter(this.#instruments.handlerPanic, attributes, 'failure');
  }

  get gauges(): ObservableGauge[] {
    return Object.values(this.#instruments.gauges);
  }

  follow(step: Step): void {
    if (step.trigger !== undefined) this.#stream(step.trigger.stream).follow(step.kind === 'rejected', step.at);
    if (step.worker < 0) return;
    const worker = this.#worker(step.worker);
    worker.follow(step);
    if (step.kind === 'rejected') return;
    // What Go would call a panic: the reconciler did not get to report its error.
    if ('failure' in step && (step.failure === 'thrown' || step.failure === 'invalid')) this.#panics.up(step.failure);
    this.#followLife(step, worker);
  }

  /** A stream was subscribed to, or has ended. */
  changeStream({ stream, isUp }: StreamChange, at: number): void {
    this.#stream(stream).change(isUp, at);
  }

  /** Hands on what the counters have gained since the last time. */
  flush(): void {
    this.#panics.flush();
    for (const stream of this.#streams.values()) stream.flush();
    this.#workers.forEach(({ tallies }) => {
      for (const tally of tallies) tally.flush();
    });
  }

  report(observe: Observe, now: number): void {
    const { leader, oldestUnconverged } = this.#instruments.gauges;
    this.#workers.forEach((worker) => {
      worker.report(observe);
    });
    for (const stream of this.#streams.values()) stream.report(observe, now);
    let oldest = now;
    for (const { unservedSince = now } of this.#lives.values()) oldest = Math.min(oldest, unservedSince);
    observe(oldestUnconverged, now - oldest, this.attributes);
    if (this.leading !== undefined) observe(leader, Number(this.leading), this.attributes);
  }

  /** The loop is gone. What still ran has been handled as well, however it goes on. */
  end(now: number): void {
    for (const { worker, runningSince } of this.#lives.values()) {
      if (runningSince !== undefined) worker.handled(Math.max(now - runningSince, 0));
    }
    this.flush();
  }

  #stream(name: unknown): StreamMetrics {
    let stream = this.#streams.get(name);
    if (stream === undefined) {
      const attributes = { ...this.attributes, stream: typeof name === 'string' ? name : '' };
      this.#streams.set(name, (stream = new StreamMetrics(this.#instruments, this.#events, attributes)));
    }
    return stream;
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
    if (life === undefined) this.#lives.set(step.id, (life = new IdState(worker)));
    const converged = life.follow(step);
    if (converged !== undefined) worker.converged(converged);
    if (life.isOver) this.#lives.delete(step.id);
  }
}
