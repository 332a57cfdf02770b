import type { Attributes } from '@opentelemetry/api';
import type { Counts } from '../../../operators/snapshots.js';
import type { Failure, Step } from '../../../operators/types.js';
import type { Observe } from './gauges.js';
import type { LoopInstruments } from './instruments.js';
import { BufferedCounter } from './buffered-counter.js';

const STATES = ['ready', 'waiting', 'running', 'abandoned'] as const;

/** What a requeue counts as. */
const RESULTS: Readonly<Record<Failure | 'none', string>> = {
  none: 'delay_requeue',
  superseded: 'superseded_requeue',
  thrown: 'error_requeue',
  reported: 'error_requeue',
  invalid: 'error_requeue',
  timeout: 'error_requeue',
};

/** The metrics of one lane. Its attributes are made once, not for each step. */
export class WorkerMetrics {
  readonly counts: { -readonly [State in keyof Counts]: number } = { ready: 0, waiting: 0, running: 0, abandoned: 0 };
  readonly tallies: readonly BufferedCounter[];
  readonly #enqueue: BufferedCounter;
  readonly #dequeue: BufferedCounter;
  readonly #results: BufferedCounter;
  readonly #well: Attributes;
  readonly #badly: Attributes;

  constructor(
    readonly instruments: LoopInstruments,
    readonly attributes: Attributes,
  ) {
    this.#enqueue = new BufferedCounter(instruments.enqueue, attributes, 'status');
    this.#dequeue = new BufferedCounter(instruments.dequeue, attributes);
    this.#results = new BufferedCounter(instruments.handleResult, attributes, 'result');
    this.tallies = [this.#enqueue, this.#dequeue, this.#results];
    this.#well = { ...attributes, error: false };
    this.#badly = { ...attributes, error: true };
  }

  follow(step: Step): void {
    switch (step.kind) {
      case 'enqueued':
        this.#enqueue.up('ok');
        break;
      case 'merged':
        this.#enqueue.up('already_present');
        break;
      case 'rejected':
        this.#enqueue.up(step.reason === 'full' ? 'queue_full' : step.reason);
        break;
      case 'started':
        this.#dequeue.up();
        this.instruments.queueMillis.record(step.waited, this.attributes);
        break;
      case 'succeeded':
        this.handled(step.took);
        this.#results.up('ok');
        break;
      case 'requeued':
        this.handled(step.took, step.failure);
        this.instruments.requeueDelayMillis.record(step.delay, this.#outcome(step.failure));
        this.#results.up(RESULTS[step.failure ?? 'none']);
        break;
      case 'dropped':
        if (step.took !== undefined) this.handled(step.took, step.failure);
        this.#results.up(step.reason === 'retries' ? 'drop_max_tries' : `drop_${step.reason}`);
    }
  }

  handled(took: number, failure?: Failure): void {
    this.instruments.handleMillis.record(took, this.#outcome(failure));
  }

  converged(took: number): void {
    this.instruments.convergenceMillis.record(took, this.attributes);
  }

  report(observe: Observe): void {
    for (const state of STATES) observe(this.instruments.gauges[state], this.counts[state], this.attributes);
  }

  #outcome(failure: Failure | undefined): Attributes {
    return isError(failure) ? this.#badly : this.#well;
  }
}

/** A run that a newer event has ended is none. */
function isError(failure: Failure | undefined): boolean {
  return failure !== undefined && failure !== 'superseded';
}
