import type { Counter, Histogram, Meter, ObservableGauge } from '@opentelemetry/api';

/** From a cached answer to a run that is over any sensible time. */
const RUNS = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000];
/** From the default `delayResolution` to a daily poll. */
const DELAYS = [250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000, 300_000, 900_000, 3_600_000, 86_400_000];
/** From one quick run to an hour of retries. */
const CONVERGENCE = [5, 10, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000, 300_000, 900_000, 3_600_000];

/** Events by stream, shared by `recordMetrics` and `metered`. */
export function streamEventCounter(meter: Meter): Counter {
  return counter(meter, 'kreconciler_stream_event_count', 'Events by stream; error is true for those that were rejected', '');
}

/** What a resync reports. */
export function resyncInstruments(meter: Meter): { items: Counter; millis: Histogram } {
  return {
    items: counter(meter, 'kreconciler_stream_resync_item_count', 'Ids that were listed', '{count}'),
    millis: histogram(meter, 'kreconciler_stream_resync_millis', 'How long a list took', RUNS),
  };
}

/** What a loop reports, except events. */
export interface LoopInstruments {
  readonly enqueue: Counter;
  readonly dequeue: Counter;
  readonly queueMillis: Histogram;
  readonly handleMillis: Histogram;
  readonly handleResult: Counter;
  readonly requeueDelayMillis: Histogram;
  readonly handlerPanic: Counter;
  readonly convergenceMillis: Histogram;
  readonly queueSize: ObservableGauge;
  readonly waiting: ObservableGauge;
  readonly running: ObservableGauge;
  readonly abandoned: ObservableGauge;
  readonly leader: ObservableGauge;
  readonly oldestUnconverged: ObservableGauge;
}

export function loopInstruments(meter: Meter): LoopInstruments {
  return {
    enqueue: counter(meter, 'kreconciler_enqueue', 'Times an id was to become ready: ok, already_present or queue_full'),
    dequeue: counter(meter, 'kreconciler_dequeue', 'Times an id left the queue to be handled'),
    queueMillis: histogram(meter, 'kreconciler_queue_millis', 'How long an id was ready before it was handled', RUNS),
    handleMillis: histogram(meter, 'kreconciler_handle_millis', 'How long the reconciler took', RUNS),
    handleResult: counter(meter, 'kreconciler_handle_result', 'What became of an id'),
    requeueDelayMillis: histogram(meter, 'kreconciler_requeue_delay_millis', 'How long an id is to wait for its next run', DELAYS),
    handlerPanic: counter(meter, 'kreconciler_handler_panic', 'Runs that threw, rejected, errored or answered something odd, instead of reporting an error', ''),
    convergenceMillis: histogram(meter, 'kreconciler_convergence_millis', 'From the first unserved event of an id to its success', CONVERGENCE),
    queueSize: gauge(meter, 'kreconciler_worker_queue_size', 'Ids that are ready', '{call}'),
    waiting: gauge(meter, 'kreconciler_waiting', 'Ids that wait for a retry or a requeue', '{call}'),
    running: gauge(meter, 'kreconciler_running', 'Ids that are being handled', '{call}'),
    abandoned: gauge(meter, 'kreconciler_abandoned', 'Ids whose promise outlived its run and is still open', '{call}'),
    leader: gauge(meter, 'kreconciler_leader', '1 while this process leads, else 0', ''),
    oldestUnconverged: gauge(meter, 'kreconciler_oldest_unconverged_millis', 'Age of the oldest event that no success has served yet', 'ms'),
  };
}

function counter(meter: Meter, name: string, description: string, unit = '{call}'): Counter {
  return meter.createCounter(name, { description, unit });
}

function histogram(meter: Meter, name: string, description: string, explicitBucketBoundaries: number[]): Histogram {
  return meter.createHistogram(name, { description, unit: 'ms', advice: { explicitBucketBoundaries } });
}

function gauge(meter: Meter, name: string, description: string, unit: string): ObservableGauge {
  return meter.createObservableGauge(name, { description, unit });
}
