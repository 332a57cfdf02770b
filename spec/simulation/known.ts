/** What the steps of an id so far say of it. */
export class Known {
  state: 'idle' | 'ready' | 'running' | 'waiting' = 'idle';
  isDirty = false;
  isAbandoned = false;
  isPaused = false;
  /** It was ready when it was paused, and has lost its place in the line. */
  isParked = false;
  /** It runs next, or its mark does. */
  isForced = false;
  /** Its run was forced, and counts for no key. */
  hasForcedRun = false;
  /** When it came to stand in its line. */
  position = 0;
  /** It was discarded during its run; and it was dirty then. */
  isDiscarded = false;
  hasDiscardedMark = false;
  /** Some event of a priority >= 0 came since its run began. */
  hasNews = false;
  attempt = 0;
  /** Its last failure, if it is not forgotten. */
  failedAt: number | undefined;
  /** How far the clock had been set back at its last end. */
  setBack = 0;
  /** When its rest ends, at the earliest and at the latest. */
  rest: Span | undefined;
  /** When its wake-up is due at the earliest, and at the latest if nothing holds it up. */
  due: Span | undefined;

  constructor(
    readonly id: string,
    readonly worker: number,
  ) {}
}

/** From when to when, in ms. */
export interface Span {
  readonly from: number;
  readonly to: number;
}
