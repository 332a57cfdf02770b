import type { Attributes } from '@opentelemetry/api';
import type { StepOf } from '../../operators/types.js';
import type { Observe } from './gauges.js';
import type { LoopInstruments } from './instruments.js';
import { Tally } from './tally.js';

/** How a run or a wait can end, as the attribute `result` has it. */
const RESULTS = {
  ok: 'ok',
  error: 'error_requeue',
  delay: 'delay_requeue',
  retries: 'drop_max_tries',
  terminal: 'drop_terminal',
  delay_queue_full: 'drop_delay_queue_full',
  stopped: 'drop_stopped',
} as const;

/** The metrics of one lane. Its attributes are made once, not for each step. */
export class WorkerMetrics {
  readonly counts = { ready: 0, running: 0, waiting: 0, abandoned: 0 };
  readonly enqueued: Tally;
  readonly merged: Tally;
  readonly full: Tally;
  readonly #dequeued: Tally;
  readonly #results: Readonly<Record<keyof typeof RESULTS, Tally>>;
  readonly #well: Attributes;
  readonly #badly: Attributes;

  constructor(
    readonly instruments: LoopInstruments,
    readonly attributes: Attributes,
  ) {
    const { enqueue, dequeue, handleResult } = instruments;
    const enqueued = (status: string): Tally => new Tally(enqueue, { ...attributes, status });
    this.enqueued = enqueued('ok');
    this.merged = enqueued('already_present');
    this.full = enqueued('queue_full');
    this.#dequeued = new Tally(dequeue, attributes);
    const results = Object.entries(RESULTS).map(([key, result]) => [key, new Tally(handleResult, { ...attributes, result })]);
    this.#results = Object.fromEntries(results) as Record<keyof typeof RESULTS, Tally>;
    this.#well = { ...attributes, error: false };
    this.#badly = { ...attributes, error: true };
  }

  started({ waited }: StepOf<'started'>): void {
    this.#dequeued.up();
    this.instruments.queueMillis.record(waited, this.attributes);
  }

  settled(step: StepOf<'succeeded' | 'requeued' | 'dropped'>): void {
    const failed = step.kind !== 'succeeded' && step.failure !== undefined;
    if (step.took !== undefined) this.handled(step.took, failed);
    if (step.kind === 'requeued') this.instruments.requeueDelayMillis.record(step.delay, failed ? this.#badly : this.#well);
    this.#results[step.kind === 'succeeded' ? 'ok' : step.kind === 'dropped' ? step.reason : failed ? 'error' : 'delay'].up();
  }

  handled(took: number, failed: boolean): void {
    this.instruments.handleMillis.record(took, failed ? this.#badly : this.#well);
  }

  converged(took: number): void {
    this.instruments.convergenceMillis.record(took, this.attributes);
  }

  flush(): void {
    for (const tally of [this.enqueued, this.merged, this.full, this.#dequeued, ...Object.values(this.#results)]) tally.flush();
  }

  report(observe: Observe): void {
    const { queueSize, waiting, running, abandoned } = this.instruments;
    observe(queueSize, this.counts.ready, this.attributes);
    observe(waiting, this.counts.waiting, this.attributes);
    observe(running, this.counts.running, this.attributes);
    observe(abandoned, this.counts.abandoned, this.attributes);
  }
}
