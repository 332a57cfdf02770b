import type { Attributes, Counter } from '@opentelemetry/api';
import { BufferedCounter } from './buffered-counter.js';
import type { Observe } from './gauges.js';
import type { LoopInstruments } from './instruments.js';

/** An event stream was subscribed to, or has ended, however it did. */
export interface StreamChange {
  readonly stream: string;
  readonly isUp: boolean;
}

/** What is measured of one event stream. */
export class StreamMetrics {
  readonly events: BufferedCounter;
  readonly starts: BufferedCounter;
  /** Whether it is subscribed to, if that is known. */
  #isUp: boolean | undefined;
  /** When it last said something, or was subscribed to. */
  #heardAt = 0;

  constructor(
    readonly instruments: LoopInstruments,
    events: Counter,
    readonly attributes: Attributes,
  ) {
    this.events = new BufferedCounter(events, attributes, 'error');
    this.starts = new BufferedCounter(instruments.streamStart, attributes);
  }

  follow(isRejected: boolean, at: number): void {
    this.events.up(isRejected);
    this.#heardAt = at;
  }

  change(isUp: boolean, at: number): void {
    if (isUp) this.starts.up();
    this.#isUp = isUp;
    this.#heardAt = at;
  }

  report(observe: Observe, now: number): void {
    if (this.#isUp === undefined) return;
    const { streamUp, streamSilence } = this.instruments.gauges;
    observe(streamUp, Number(this.#isUp), this.attributes);
    // One that has ended is down, and not silent.
    if (this.#isUp) observe(streamSilence, Math.max(now - this.#heardAt, 0), this.attributes);
  }

  flush(): void {
    this.events.flush();
    this.starts.flush();
  }
}
