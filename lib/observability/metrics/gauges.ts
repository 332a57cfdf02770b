import type { Attributes, BatchObservableCallback, Meter, ObservableGauge } from '@opentelemetry/api';

/** Reports the value of a gauge. `attributes` are to be the same object each time. */
export type Observe = (gauge: ObservableGauge, value: number, attributes: Attributes) => void;

/**
 * Calls `report` at each collection, until the returned function is called.
 *
 * The JavaScript SDK repeats the last value of a gauge for ever when its callback is gone: a loop that has stopped would lead
 * for ever. So gauges that were not 0 when last seen are reported as 0 once more, at the next collection.
 */
export function reportGauges(meter: Meter, gauges: ObservableGauge[], report: (observe: Observe) => void): () => void {
  let standing: [ObservableGauge, Attributes][] = [];
  const callback: BatchObservableCallback = (result) => {
    standing = [];
    report((gauge, value, attributes) => {
      result.observe(gauge, value, attributes);
      if (value !== 0) standing.push([gauge, attributes]);
    });
  };
  const last: BatchObservableCallback = (result) => {
    for (const [gauge, attributes] of standing) result.observe(gauge, 0, attributes);
    // Later, for the SDK that walks over its callbacks would miss one; but in line with them, or this 0 would come last.
    void Promise.resolve().then(() => {
      meter.removeBatchObservableCallback(last, gauges);
    });
  };
  meter.addBatchObservableCallback(callback, gauges);
  return () => {
    meter.removeBatchObservableCallback(callback, gauges);
    if (standing.length > 0) meter.addBatchObservableCallback(last, gauges);
  };
}
