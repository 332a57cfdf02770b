import type { Step } from '../operators/types.js';

/** What happened in the `every` ms from `at` on, in ms on the scheduler's clock. */
export interface RatesBucket {
  readonly at: number;
  readonly every: number;
  /** Events that came: enqueued, merged and rejected ones. */
  readonly events: number;
  readonly rejected: number;
  readonly started: number;
  /** Runs that ended, well or not. */
  readonly ended: number;
  readonly failed: number;
  readonly dropped: number;
  /** How long those that ended have taken: the sum, and the longest, in ms. */
  readonly took: number;
  readonly tookMax: number;
  /** How long those that started had been ready: the sum, and the longest, in ms. */
  readonly waited: number;
  readonly waitedMax: number;
}

/** How many ms are counted together, and how many such times are kept: ten minutes. */
const [EVERY, KEPT] = [5_000, 120];

/** After so many ms in which nobody looked, nothing is counted any more. */
const UNSEEN = 60_000;

/**
 * How many steps of a bucket are told from those of the next by their own moment; beyond that it may be wrong by so many. A power of
 * two. To ask a step for its moment costs as much as to count it.
 */
const EXACTLY = 64;

type Bucket = { -readonly [K in keyof RatesBucket]: RatesBucket[K] };

/** Counts what happens, while somebody looks. */
export class Rates {
  isOn = false;
  /** All that were counted. */
  steps = 0;
  #buckets: Bucket[] = [];
  #now = empty(-Infinity);
  /** How many steps were counted in it. */
  #counted = 0;
  #seenAt = -Infinity;

  /** The last minutes, oldest first, as far as they were counted; from now on there will be more. */
  look(at: number): readonly RatesBucket[] {
    this.#seenAt = at;
    if (!this.isOn) {
      this.isOn = true;
      this.#buckets = [];
      this.#now = empty(-Infinity);
    }
    this.#at(at);
    return this.#buckets;
  }

  /** To be called with each step while it is on. */
  enter(step: Step): void {
    this.steps++;
    const bucket = this.#counted++ < EXACTLY || (this.#counted & (EXACTLY - 1)) === 0 ? this.#at(step.at) : this.#now;
    switch (step.kind) {
      case 'enqueued':
        if (step.trigger !== undefined) bucket.events++;
        break;
      case 'started':
        bucket.started++;
        bucket.waited += step.waited;
        if (step.waited > bucket.waitedMax) bucket.waitedMax = step.waited;
        break;
      case 'succeeded':
        ended(bucket, step.took);
        break;
      case 'merged':
        bucket.events++;
        break;
      case 'rejected':
        bucket.events++;
        bucket.rejected++;
        break;
      case 'requeued':
        ended(bucket, step.took);
        if (step.failure !== undefined && step.failure !== 'superseded') bucket.failed++;
        break;
      case 'dropped':
        bucket.dropped++;
        if (step.failure !== undefined) bucket.failed++;
        if (step.took !== undefined) ended(bucket, step.took);
    }
  }

  /** The bucket of a moment, which may be a new one. A clock that was set back goes on in the last one. */
  #at(moment: number): Bucket {
    if (moment < this.#now.at + EVERY) return this.#now;
    this.#now = empty(Math.floor(moment / EVERY) * EVERY);
    this.#counted = 0;
    this.#buckets.push(this.#now);
    const oldest = this.#now.at - KEPT * EVERY;
    this.#buckets = this.#buckets.filter(({ at }) => at > oldest);
    if (this.#now.at - this.#seenAt >= UNSEEN) this.isOn = false;
    return this.#now;
  }
}

function ended(bucket: Bucket, took: number): void {
  bucket.ended++;
  bucket.took += took;
  if (took > bucket.tookMax) bucket.tookMax = took;
}

function empty(at: number): Bucket {
  const counts = { events: 0, rejected: 0, started: 0, ended: 0, failed: 0, dropped: 0 };
  return { at, every: EVERY, ...counts, took: 0, tookMax: 0, waited: 0, waitedMax: 0 };
}
