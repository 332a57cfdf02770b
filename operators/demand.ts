import { priorityOf } from './trigger.js';
import type { Trigger } from './types.js';

export const NO_STREAMS: readonly string[] = [];

/** What the events have in common that ask for a run. It is never changed, so that one may serve all ids. */
export interface Demand {
  /** Where they came from. */
  readonly streams: readonly string[];
  /** The highest of their priorities. */
  readonly priority: number;
}

/** How many priorities are remembered. */
const MOST = 1024;

/** Makes demands of events. Those of one stream and one priority are equal, so one serves all of them. */
export class Demands {
  #stream: string | undefined;
  #streams = NO_STREAMS;
  #priority: number | undefined;
  #last: Demand = { streams: NO_STREAMS, priority: 0 };
  /** By their priorities, the last ones of the same stream. */
  readonly #known = new Map<number, Demand>();

  of(trigger: Trigger): Demand {
    const { stream, priority } = trigger;
    return stream === this.#stream && priority === this.#priority ? this.#last : this.#find(trigger);
  }

  #find(trigger: Trigger): Demand {
    const { stream } = trigger;
    const priority = priorityOf(trigger);
    if (stream !== this.#stream) this.#streams = stream === undefined ? NO_STREAMS : [stream];
    if (stream !== this.#stream || this.#known.size === MOST) this.#known.clear();
    this.#stream = stream;
    this.#priority = trigger.priority;
    this.#last = this.#known.get(priority) ?? { streams: this.#streams, priority };
    this.#known.set(priority, this.#last);
    return this.#last;
  }
}

/** What both ask for. */
export function merged(a: Demand | undefined, b: Demand): Demand {
  if (a === undefined || a === b) return b;
  return withStreams(a, b, Math.max(a.priority, b.priority));
}

/** `a` for the streams of `b` as well, with the priority that is given. */
export function withStreams(a: Demand, b: Demand, priority: number): Demand {
  const others = b.streams.filter((stream) => !a.streams.includes(stream));
  if (others.length === 0 && priority === a.priority) return a;
  if (a.streams.length === 0 && priority === b.priority) return b;
  return { streams: others.length === 0 ? a.streams : [...a.streams, ...others], priority };
}
