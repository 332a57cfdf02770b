import { metrics } from '@opentelemetry/api';
import { resyncInstruments } from './instruments.js';
import type { Observability } from './observability.js';
import { SCOPE } from './scope.js';

/** What `resync` reports of each list. */
export interface ResyncMetrics {
  /** A list of `count` ids took `took` ms. */
  readonly listed: (count: number, took: number) => void;
  /** A list failed after `took` ms. */
  readonly failed: (took: number) => void;
}

const SUCCESS = { status: 'success' };
const ERROR = { status: 'error' };

/** Takes the meter now: to be called when the resync is subscribed to. */
export function resyncMetrics({ meterProvider = metrics.getMeterProvider() }: Observability): ResyncMetrics {
  const { items, millis } = resyncInstruments(meterProvider.getMeter(SCOPE));
  return {
    listed: (count, took) => {
      items.add(count);
      millis.record(took, SUCCESS);
    },
    failed: (took) => {
      millis.record(took, ERROR);
    },
  };
}
