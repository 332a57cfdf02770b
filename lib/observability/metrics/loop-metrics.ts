import type { Attributes, Counter, Meter, ObservableGauge } from '@opentelemetry/api';
import type { Step } from '../../../operators/types.js';
import type { Observe } from './gauges.js';
import { type LoopInstruments, loopInstruments, streamEventCounter } from './instruments.js';
import { MeasuredId } from './measured-id.js';
import { BufferedCounter } from './buffered-counter.js';
import { PauseMetrics } from './pause-metrics.js';
import { type ShardChange, ShardMetrics } from './shard-metrics.js';
import { type StreamChange, StreamMetrics } from './stream-metrics.js';
import { WorkerMetrics } from './worker-metrics.js';

/** How many may run at once, in a worker and in the loop. */
export interface Places {
  readonly workerConcurrency: number;
  readonly concurrency: number;
}

/** What `recordMetrics` keeps of one loop: a little for each lane and stream, and for each id until it has converged. */
export class LoopMetrics {
  /** Whether the loop leads, if that is known. */
  leading: boolean | undefined;
  readonly #instruments: LoopInstruments;
  readonly #events: Counter;
  readonly #panics: BufferedCounter;
  readonly #streams = new Map<unknown, StreamMetrics>();
  readonly #workers: WorkerMetrics[] = [];
  readonly #pauses = new PauseMetrics();
  #shards: ShardMetrics | undefined;
  readonly #ids = new Map<string, MeasuredId>();

  constructor(
    meter: Meter,
    readonly attributes: Attributes,
    readonly workerName: (worker: number) => string,
    readonly places: Places,
  ) {
    this.#instruments = loopInstruments(meter);
    this.#events = streamEventCounter(meter);
    this.#panics = new BufferedCounter(this.#instruments.handlerPanic, attributes, 'failure');
  }

  get gauges(): ObservableGauge[] {
    return Object.values(this.#instruments.gauges);
  }

  follow(step: Step): void {
    // That another process has the shard is no fault of the event.
    if (step.trigger !== undefined)
      this.#stream(step.trigger.stream).follow(step.kind === 'rejected' && step.reason !== 'not_owned', step.at);
    if (step.kind === 'paused' || step.kind === 'resumed') {
      this.#pauses.follow(step);
      return;
    }
    if (step.worker < 0) return;
    const worker = this.#worker(step.worker);
    worker.follow(step);
    if (step.kind === 'rejected') return;
    // What Go would call a panic: the reconciler did not get to report its error.
    if ('failure' in step && (step.failure === 'thrown' || step.failure === 'invalid')) this.#panics.up(step.failure);
    this.#followId(step, worker);
  }

  /** A stream was subscribed to, or has ended. */
  changeStream({ stream, isUp }: StreamChange, at: number): void {
    this.#stream(stream).change(isUp, at);
  }

  /** Something has happened to the shards, if the loop has any. */
  changeShards(change: ShardChange, at: number): void {
    this.#shards ??= new ShardMetrics(this.#instruments, this.attributes);
    this.#shards.follow(change, at);
  }

  /** Hands on what the counters have gained since the last time. */
  flush(): void {
    this.#panics.flush();
    this.#shards?.flush();
    for (const stream of this.#streams.values()) stream.flush();
    this.#workers.forEach(({ tallies }) => {
      for (const tally of tallies) tally.flush();
    });
  }

  report(observe: Observe, now: number): void {
    const { leader, oldestUnconverged, paused, loopPaused, oldestPause, placesTaken, placesWanted } = this.#instruments.gauges;
    let [taken, wanted] = [0, 0];
    this.#workers.forEach((worker) => {
      worker.report(observe);
      const { ready, running } = worker.counts;
      taken += running;
      wanted += Math.min(ready, Math.max(this.places.workerConcurrency - running, 0));
    });
    for (const stream of this.#streams.values()) stream.report(observe, now);
    this.#shards?.report(observe);
    observe(placesTaken, taken, this.attributes);
    observe(placesWanted, taken < this.places.concurrency ? 0 : wanted, this.attributes);
    observe(paused, this.#pauses.ids, this.attributes);
    observe(loopPaused, Number(this.#pauses.loop), this.attributes);
    observe(oldestPause, Math.max(now - Math.min(this.#pauses.oldest, now), 0), this.attributes);
    let oldest = now;
    // What is paused does not converge because somebody wants it so.
    for (const [id, { unservedSince = now }] of this.#ids) if (unservedSince < oldest && !this.#pauses.has(id)) oldest = unservedSince;
    observe(oldestUnconverged, now - oldest, this.attributes);
    if (this.leading !== undefined) observe(leader, Number(this.leading), this.attributes);
  }

  /** The loop is gone. What still ran has been handled as well, however it goes on. */
  end(now: number): void {
    for (const { worker, runningSince } of this.#ids.values()) {
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

  #followId(step: Step, worker: WorkerMetrics): void {
    let id = this.#ids.get(step.id);
    if (id === undefined) this.#ids.set(step.id, (id = new MeasuredId(worker)));
    const converged = id.follow(step);
    if (converged !== undefined) worker.converged(converged);
    if (id.isOver) this.#ids.delete(step.id);
  }
}
