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

/** Makes demands of events. Nearly all of them are equal, so the last one is kept. */
export class Demands {
  #stream: string | undefined;
  #priority: number | undefined;
  #last: Demand = { streams: NO_STREAMS, priority: 0 };

  of(trigger: Trigger): Demand {
    const { stream, priority } = trigger;
    return stream === this.#stream && priority === this.#priority ? this.#last : this.#make(trigger);
  }

  #make(trigger: Trigger): Demand {
    const { stream, priority } = trigger;
    const { streams } = this.#last;
    const isKnown = stream === this.#stream;
    this.#stream = stream;
    this.#priority = priority;
    return (this.#last = {
      streams: isKnown ? streams : stream === undefined ? NO_STREAMS : [stream],
      priority: priorityOf(trigger),
    });
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
