import type { Attributes } from '@opentelemetry/api';
import { type DataPoint, type Histogram, MeterProvider, type MetricData, MetricReader } from '@opentelemetry/sdk-metrics';

class Reader extends MetricReader {
  protected override async onForceFlush(): Promise<void> {}
  protected override async onShutdown(): Promise<void> {}
}

type Where = Readonly<Record<string, unknown>>;

/** The real metrics SDK, and a reader that is asked. An instrument may have so many series: by default what the SDK says. */
export function meteredSdk(limit?: number) {
  const reader = new Reader();
  const provider = new MeterProvider({
    readers: [reader],
    views: limit === undefined ? [] : [{ instrumentName: 'kreconciler_*', aggregationCardinalityLimit: limit }],
  });
  const collect = async (): Promise<Map<string, MetricData>> => {
    const { resourceMetrics, errors } = await reader.collect();
    if (errors.length > 0) throw new AggregateError(errors);
    return new Map(resourceMetrics.scopeMetrics.flatMap(({ metrics }) => metrics).map((metric) => [metric.descriptor.name, metric]));
  };
  return { provider, meter: provider.getMeter('test'), collect };
}

/** The values of an instrument, by attributes: of a histogram its count. */
export function series(metrics: Map<string, MetricData>, name: string): { attributes: Attributes; value: number }[] {
  const points = (metrics.get(name)?.dataPoints ?? []) as DataPoint<number | Histogram>[];
  return points.map(({ attributes, value }) => ({ attributes, value: typeof value === 'number' ? value : value.count }));
}

/** The sum over all series whose attributes are as in `where`. */
export function total(metrics: Map<string, MetricData>, name: string, where: Where = {}): number {
  const matches = ({ attributes }: { attributes: Attributes }): boolean =>
    Object.entries(where).every(([key, value]) => attributes[key] === value);
  return series(metrics, name)
    .filter(matches)
    .reduce((sum, { value }) => sum + value, 0);
}
