import type { ChartBucket, Overview } from '../api.js';
import { el, find, setAttribute, setText, svg } from './dom.js';
import { duration, rate } from './format.js';
import type { Tone } from './tone.js';

/** What the charts show, in ms. */
const SPAN = 5 * 60_000;
const [WIDTH, HEIGHT] = [300, 72];

/** One line, or one layer of the bars. */
interface Series {
  readonly name: string;
  readonly tone: Tone;
  readonly isSecond?: boolean;
  /** `undefined`: nothing is known of that time. */
  readonly of: (bucket: ChartBucket) => number | undefined;
}

interface ChartConfig {
  readonly title: string;
  readonly kind: 'bars' | 'lines';
  readonly series: readonly Series[];
  readonly unit: (value: number) => string;
  /** What is said of now. */
  readonly now: (bucket: ChartBucket | undefined) => string;
}

const perSecond = (value: number, { every }: ChartBucket): number => (value * 1000) / every;
const mean = (sum: number, count: number): number | undefined => (count === 0 ? undefined : sum / count);

const CHARTS: readonly ChartConfig[] = [
  {
    title: 'Runs',
    kind: 'bars',
    series: [
      { name: 'succeeded', tone: 'good', of: (bucket) => perSecond(Math.max(0, bucket.ended - bucket.failed), bucket) },
      { name: 'failed', tone: 'fail', of: (bucket) => perSecond(Math.max(0, bucket.failed - bucket.dropped), bucket) },
      { name: 'dropped', tone: 'bad', of: (bucket) => perSecond(bucket.dropped, bucket) },
    ],
    unit: rate,
    now: (bucket) => {
      if (bucket === undefined || bucket.ended === 0) return 'none ended';
      const { ended, failed, dropped } = bucket;
      const share = failed === 0 ? 'none' : `${Math.min(100, Math.ceil((failed / ended) * 100))} %`;
      return `${rate(perSecond(ended, bucket))}, ${share} failed${dropped === 0 ? '' : `, ${dropped} dropped`}`;
    },
  },
  {
    title: 'Run time',
    kind: 'lines',
    series: [
      { name: 'mean', tone: 'running', of: (bucket) => mean(bucket.took, bucket.ended) },
      { name: 'longest', tone: 'running', isSecond: true, of: (bucket) => mean(bucket.tookMax, Math.min(1, bucket.ended)) },
    ],
    unit: duration,
    now: (bucket) =>
      bucket === undefined || bucket.ended === 0
        ? 'none ended'
        : `mean ${duration(bucket.took / bucket.ended)}, longest ${duration(bucket.tookMax)}`,
  },
  {
    title: 'Wait for a turn',
    kind: 'lines',
    series: [
      { name: 'mean', tone: 'ready', of: (bucket) => mean(bucket.waited, bucket.started) },
      { name: 'longest', tone: 'ready', isSecond: true, of: (bucket) => mean(bucket.waitedMax, Math.min(1, bucket.started)) },
    ],
    unit: duration,
    now: (bucket) =>
      bucket === undefined || bucket.started === 0
        ? 'none started'
        : `mean ${duration(bucket.waited / bucket.started)}, longest ${duration(bucket.waitedMax)}`,
  },
];

/** The rates and latencies of the last minutes. */
export class ChartsView {
  readonly #charts = CHARTS.map((config) => new Chart(config));

  constructor() {
    find('charts', HTMLElement).append(...this.#charts.map(({ element }) => element));
  }

  show({ chart, at }: Pick<Overview, 'chart' | 'at'>): void {
    for (const one of this.#charts) one.show(chart, at);
  }

  clear(): void {
    this.show({ chart: [], at: 0 });
  }
}

class Chart {
  readonly element: HTMLElement;
  readonly #now = el('p', { class: 'chart-now' });
  readonly #top = el('span');
  readonly #drawing = svg('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none', role: 'img' });
  readonly #paths: readonly SVGPathElement[];

  constructor(readonly config: ChartConfig) {
    this.#paths = config.series.map(({ tone, isSecond = false }) =>
      svg('path', { class: config.kind === 'bars' ? 'area' : `curve${isSecond ? ' second' : ''}`, 'data-tone': tone }),
    );
    this.#drawing.append(
      svg('path', { class: 'rule', d: `M0 ${HEIGHT}h${WIDTH}` }),
      svg('path', { class: 'rule', d: `M0 0h${WIDTH}` }),
      ...this.#paths,
    );
    const keys = config.series.map(({ name, tone, isSecond = false }) =>
      el('span', { class: `key${config.kind === 'bars' ? '' : isSecond ? ' dashed' : ' line'}`, 'data-tone': tone }, name),
    );
    this.element = el(
      'div',
      { class: 'card chart' },
      el('div', { class: 'chart-head' }, el('h3', {}, config.title), this.#now),
      this.#drawing,
      el('p', { class: 'chart-foot' }, this.#top, el('span', {}, ...keys)),
    );
  }

  show(buckets: readonly ChartBucket[], at: number): void {
    const { config } = this;
    const seen = buckets.filter((bucket) => bucket.at + bucket.every > at - SPAN);
    const values = seen.map((bucket) => config.series.map(({ of }) => of(bucket)));
    const heights = values.map((row) => (config.kind === 'bars' ? sum(row) : most(row)));
    const top = most(heights);
    const x = (time: number): number => round(WIDTH * Math.min(1, Math.max(0, 1 - (at - time) / SPAN)));
    const y = (value: number): number => round(HEIGHT - (top === 0 ? 0 : (value / top) * (HEIGHT - 2)));
    this.#paths.forEach((path, layer) => {
      const d = config.kind === 'bars' ? bars(seen, values, layer, x, y) : curve(seen, values, layer, x, y);
      setAttribute(path, 'd', d === '' ? undefined : d);
    });
    // The last one that is whole: the one that goes on has seen little yet.
    const whole = seen.filter((bucket) => bucket.at + bucket.every <= at).at(-1) ?? seen.at(-1);
    const now = config.now(whole);
    const scale = top === 0 ? 'last 5 min' : `last 5 min, up to ${config.unit(top)}`;
    setText(this.#now, now);
    setText(this.#top, scale);
    setAttribute(this.#drawing, 'aria-label', `${config.title}: now ${now}; ${scale}`);
  }
}

type Scale = (value: number) => number;

function bars(
  seen: readonly ChartBucket[],
  values: readonly (readonly (number | undefined)[])[],
  layer: number,
  x: Scale,
  y: Scale,
): string {
  return seen
    .map((bucket, index) => {
      const below = sum((values[index] ?? []).slice(0, layer));
      const value = values[index]?.[layer] ?? 0;
      const [left, right] = [x(bucket.at), x(bucket.at + bucket.every)];
      if (value === 0 || right - left < 0.5) return '';
      const [low, high] = [y(below), y(below + value)];
      return `M${left + 0.4} ${low}v${round(high - low)}h${round(right - left - 0.8)}v${round(low - high)}z`;
    })
    .join('');
}

/** Where nothing is known the line breaks. */
function curve(
  seen: readonly ChartBucket[],
  values: readonly (readonly (number | undefined)[])[],
  layer: number,
  x: Scale,
  y: Scale,
): string {
  let isOpen = false;
  return seen
    .map((bucket, index) => {
      const value = values[index]?.[layer];
      if (value === undefined) {
        isOpen = false;
        return '';
      }
      const place = `${x(bucket.at + bucket.every / 2)} ${y(value)}`;
      // One point alone is a dot.
      const piece = isOpen ? `L${place}` : `M${place}h.01`;
      isOpen = true;
      return piece;
    })
    .join('');
}

function most(values: readonly (number | undefined)[]): number {
  return values.reduce<number>((most, value) => Math.max(most, value ?? 0), 0);
}

function sum(values: readonly (number | undefined)[]): number {
  return values.reduce<number>((all, value) => all + (value ?? 0), 0);
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
