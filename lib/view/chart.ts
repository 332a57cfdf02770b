import { Subscription } from 'rxjs';
import type { Step } from '../../operators/types.js';
import type { ChartBucket } from './api.js';
import type { Viewed } from './viewed.js';

/** How many ms are counted together, and how many such times are kept: ten minutes. */
const [EVERY, KEPT] = [5_000, 120];

/** After so many ms in which nobody looked, nothing is counted any more. */
const UNSEEN = 60_000;

type Bucket = { -readonly [K in keyof ChartBucket]: ChartBucket[K] };

/** Counts what happens, while somebody looks. */
export class Chart {
  #buckets: Bucket[] = [];
  #now: Bucket | undefined;
  #seenAt = -Infinity;
  #counting = new Subscription();

  constructor(readonly controller: Viewed) {
    this.#counting.unsubscribe();
  }

  /** The last minutes, oldest first, as far as they were counted; from now on there will be more. */
  look(): readonly ChartBucket[] {
    const at = this.controller.config.scheduler.now();
    this.#seenAt = at;
    if (this.#counting.closed) {
      this.#buckets = [];
      this.#now = undefined;
      this.#counting = this.controller.steps.subscribe({
        next: (step) => {
          this.#count(step);
        },
        error: () => undefined,
      });
    }
    this.#at(at);
    return this.#buckets;
  }

  #count(step: Step): void {
    const { at } = step;
    if (at - this.#seenAt > UNSEEN) {
      this.#counting.unsubscribe();
      return;
    }
    const bucket = this.#now !== undefined && at < this.#now.at + EVERY ? this.#now : this.#at(at);
    switch (step.kind) {
      case 'enqueued':
        if (step.trigger !== undefined) bucket.events++;
        break;
      case 'merged':
        bucket.events++;
        break;
      case 'rejected':
        bucket.events++;
        bucket.rejected++;
        break;
      case 'started':
        bucket.started++;
        bucket.waited += step.waited;
        if (step.waited > bucket.waitedMax) bucket.waitedMax = step.waited;
        break;
      case 'succeeded':
        ended(bucket, step.took);
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
    if (this.#now === undefined || moment >= this.#now.at + EVERY) {
      this.#now = empty(Math.floor(moment / EVERY) * EVERY);
      this.#buckets.push(this.#now);
      const oldest = this.#now.at - KEPT * EVERY;
      this.#buckets = this.#buckets.filter(({ at }) => at > oldest);
    }
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
