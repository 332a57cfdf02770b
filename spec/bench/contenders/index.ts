import type { Contender } from '../contender.js';

/** In the order in which they take turns, and stand in the tables. Each is loaded only in the process that measures it. */
export const contenders: Readonly<Record<string, () => Promise<Contender>>> = {
  kreconciler: async () => (await import('./kreconciler.js')).contender,
  controller: async () => (await import('./controller.js')).contender,
  'no history': async () => (await import('./controller.js')).noHistory,
  'view, unseen': async () => (await import('./controller.js')).unseen,
  'view, open': async () => (await import('./controller.js')).seen,
  'no-op telemetry': async () => (await import('./telemetry.js')).telemetry('metrics and traces, and no SDK registered'),
  'SDK metrics': async () =>
    (await import('./telemetry.js')).telemetry('metrics, by the real SDK', async () => (await import('../sdk.js')).metricsOnly()),
  'SDK metrics+traces': async () =>
    (await import('./telemetry.js')).telemetry('metrics and traces, by the real SDK, each id sampled', async () =>
      (await import('../sdk.js')).metricsAndTraces(),
    ),
  'by priority': async () => (await import('./orders.js')).priorities,
  fair: async () => (await import('./orders.js')).shares,
  'concurrency 16': async () => (await import('./orders.js')).sixteen,
  'p-queue, priorities': async () => (await import('./orders.js')).queue,
  'bottleneck, groups': async () => (await import('./orders.js')).groups,
  fastq: async () => (await import('./fastq.js')).contender,
  'p-queue': async () => (await import('./p-queue.js')).contender,
  bottleneck: async () => (await import('./bottleneck.js')).contender,
  'bare rxjs': async () => (await import('./bare.js')).contender,
  'async-mutex': async () => (await import('./mutex.js')).contender,
  fifo: async () => (await import('./fifo.js')).contender,
};
