import type { Counter, Histogram, Meter, ObservableGauge } from '@opentelemetry/api';

/** The boundaries of all histograms, from a cached answer to a daily poll. Each takes the part it needs: a boundary is a series. */
const MILLIS = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000, 300_000, 900_000, 3_600_000, 86_400_000];

/** Events by stream, shared by `recordMetrics` and `metered`. */
export function streamEventCounter(meter: Meter): Counter {
  return counter(meter, 'kreconciler_stream_event_count', 'Events; error is true for those that were rejected', '');
}

/** What a resync reports. */
export function resyncInstruments(meter: Meter): { items: Counter; millis: Histogram } {
  return {
    items: counter(meter, 'kreconciler_stream_resync_item_count', 'Ids that were listed', '{count}'),
    millis: histogram(meter, 'kreconciler_stream_resync_millis', 'How long a list took'),
  };
}

/** What a loop reports, except events. */
export type LoopInstruments = ReturnType<typeof loopInstruments>;

export function loopInstruments(meter: Meter) {
  return {
    enqueue: counter(meter, 'kreconciler_enqueue', 'Ids that were to become ready'),
    dequeue: counter(meter, 'kreconciler_dequeue', 'Ids that left the queue to be handled'),
    queueMillis: histogram(meter, 'kreconciler_queue_millis', 'How long an id was ready'),
    handleMillis: histogram(meter, 'kreconciler_handle_millis', 'How long a run took'),
    handleResult: counter(meter, 'kreconciler_handle_result', 'What became of an id'),
    requeueDelayMillis: histogram(meter, 'kreconciler_requeue_delay_millis', 'How long an id is to wait for its next run', 250, 86_400_000),
    handlerPanic: counter(
      meter,
      'kreconciler_handler_panic',
      'Runs that threw or answered something odd, instead of reporting an error',
      '',
    ),
    convergenceMillis: histogram(
      meter,
      'kreconciler_convergence_millis',
      'From the first unserved event of an id to its success',
      5,
      3_600_000,
    ),
    streamStart: counter(meter, 'kreconciler_stream_start_count', 'How often a stream was subscribed to, once a term', ''),
    shardMove: counter(meter, 'kreconciler_shard_move_count', 'Shards that came, were freed, or were lost', ''),
    shardHandOverMillis: histogram(meter, 'kreconciler_shard_hand_over_millis', 'How long a shard that was to go was held on to'),
    gauges: {
      streamUp: gauge(meter, 'kreconciler_stream_up', '1 while a stream is subscribed to, else 0', ''),
      streamSilence: gauge(meter, 'kreconciler_stream_silence_millis', 'How long a stream that is up has said nothing', 'ms'),
      ready: gauge(meter, 'kreconciler_worker_queue_size', 'Ids that are ready'),
      waiting: gauge(meter, 'kreconciler_waiting', 'Ids that wait for a retry or a requeue'),
      running: gauge(meter, 'kreconciler_running', 'Ids that are being handled'),
      abandoned: gauge(meter, 'kreconciler_abandoned', 'Ids whose promise outlived its run'),
      paused: gauge(meter, 'kreconciler_paused', 'Ids that are paused themselves'),
      loopPaused: gauge(meter, 'kreconciler_loop_paused', '1 while the whole loop is paused, else 0', ''),
      oldestPause: gauge(
        meter,
        'kreconciler_oldest_pause_millis',
        'Age of the oldest pause, of an id or the loop, that has not been lifted',
        'ms',
      ),
      placesTaken: gauge(meter, 'kreconciler_places_taken', 'Runs that are on, in the whole loop'),
      placesWanted: gauge(meter, 'kreconciler_places_wanted', 'Ready ids whose worker has a place for them, and the loop has not'),
      leader: gauge(meter, 'kreconciler_leader', '1 while this process leads, else 0', ''),
      shardsOwned: gauge(meter, 'kreconciler_shards_owned', 'Shards that this process owns', ''),
      shardsUnowned: gauge(meter, 'kreconciler_shards_unowned', 'Shards that nobody holds, as this process last saw', ''),
      oldestUnconverged: gauge(meter, 'kreconciler_oldest_unconverged_millis', 'Age of the oldest event not yet served by a success', 'ms'),
    },
  };
}

function counter(meter: Meter, name: string, description: string, unit = '{call}'): Counter {
  return meter.createCounter(name, { description, unit });
}

function histogram(meter: Meter, name: string, description: string, least = 1, most = 60_000): Histogram {
  const explicitBucketBoundaries = MILLIS.filter((ms) => ms >= least && ms <= most);
  return meter.createHistogram(name, { description, unit: 'ms', advice: { explicitBucketBoundaries } });
}

function gauge(meter: Meter, name: string, description: string, unit = '{call}'): ObservableGauge {
  return meter.createObservableGauge(name, { description, unit });
}
