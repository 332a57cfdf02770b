import type { Counts, WorkerCounts } from '../../operators/snapshots.js';
import type { Step } from '../../operators/types.js';
import type { ErrorDescription } from '../describe-error.js';
import type { InspectedId } from '../inspect.js';
import type { Pause } from '../notes.js';
import type { RatesBucket } from '../rates.js';

// What the JSON under `base/api/` looks like. All times are ms on the clock of the controller's scheduler, by default those of
// `Date.now()`. Texts that are longer than 1,000 characters are cut to that, and end with `…`.

/** What a request may ask to change. */
export type Action = 'run' | 'pause' | 'resume' | 'discard';

/** `GET base/api/NAME`: a loop at a glance. */
export interface Overview extends Counts {
  readonly name: string;
  /** What the clock says; every other time is to be compared with it. */
  readonly at: number;
  readonly leading: boolean;
  /** The number of the term, if the leader source gives it one. */
  readonly term?: number;
  /** Whether the whole loop is paused. */
  readonly paused?: Pause;
  /** How many ids are paused themselves, idle ones included. */
  readonly pausedIds: number;
  /** By number; a worker is there once it has had an id. */
  readonly workers: readonly WorkerOverview[];
  /** The id that has not converged for longest, if there is one: since the event, or the failure, that made it so. */
  readonly oldest?: { readonly id: string; readonly since: number };
  /** The shards, where the loop is sharded. */
  readonly shards?: ShardsOverview;
  /** The event streams that have completed while others go on, if there are any. */
  readonly completed?: readonly string[];
  /** What this request may do to the loop as a whole: `pause`, `resume`, or nothing. */
  readonly actions: readonly Action[];
  /** Rates and latencies of the last minutes, oldest first; counted only while somebody looks, so it begins with the first look. */
  readonly chart: readonly ChartBucket[];
}

/** A worker, and what runs in it. */
export interface WorkerOverview extends WorkerCounts {
  readonly name: string;
  /** At most 20, those that have run for longest first. */
  readonly runs: readonly { readonly id: string; readonly attempt: number; readonly since: number }[];
}

/** What a sharded loop owns. */
export interface ShardsOverview {
  readonly count: number;
  readonly owned: readonly { readonly shard: number; readonly term?: number }[];
}

/** What happened in the `every` ms from `at` on. */
export type ChartBucket = RatesBucket;

/** An id as `inspect()` has it, or an idle one. */
export type IdRow =
  | (Omit<InspectedId, 'history'> & { readonly cut?: true })
  | {
      readonly id: string;
      readonly worker?: number;
      readonly state: 'idle';
      readonly paused?: Pause;
      /** The id is longer than what is shown of it, so nothing can be asked or done about it here. */
      readonly cut?: true;
    };

/** What `state=` may say: a state, `paused` (the id itself is), or `failing` (its last run failed). None: all ids that are not idle. */
export type StateFilter = keyof Counts | 'paused' | 'failing';

/** `GET base/api/NAME/ids?state=&search=&cursor=&limit=`: one page of ids, ordered by id. */
export interface IdPage {
  readonly at: number;
  readonly ids: readonly IdRow[];
  /** How many match, on all pages. */
  readonly total: number;
  /** For `cursor=`, if there are more. */
  readonly next?: string;
}

/**
 * `GET base/api/NAME/ids/ID?idle=`; 404 if it is idle, not paused, and has no history. With `idle=true` such a one is answered as well: it is
 * no error to look at it, and browsers show each 404 as one.
 */
export interface IdDetails {
  readonly at: number;
  readonly id: IdRow;
  /** Its last steps, oldest first; see `config.history`. */
  readonly history: readonly StepMessage[];
  /** What this request may do to it. */
  readonly actions: readonly Action[];
}

/**
 * A step as JSON: without its trigger, of which the stream's name is left, and with name and message of its error. Which fields there
 * are depends on `kind`, as it does for a `Step`.
 */
export interface StepMessage {
  readonly kind: Step['kind'];
  readonly id: string;
  readonly worker: number;
  readonly at: number;
  readonly stream?: string;
  readonly streams?: readonly string[];
  readonly reason?: string;
  readonly attempt?: number;
  readonly waited?: number;
  readonly took?: number;
  readonly delay?: number;
  readonly failure?: string;
  readonly error?: ErrorDescription;
  readonly why?: string;
}

// `GET base/api/NAME/steps` is a stream of server-sent events. A message without a name (`onmessage`) is a StepMessage. `missed` says
// how many steps were left out since the last such event, by sampling or because this reader is slow. `end`: the loop has ended, and
// there is no use in connecting again. A comment comes every 15 s.

/** The data of the event `missed`. */
export interface Missed {
  readonly count: number;
}

/** The body of `POST base/api/NAME/run|pause|resume|discard`, which needs the header `x-kreconciler: 1`. */
export interface Asked {
  /** Which id; for `pause` and `resume` none means the whole loop. */
  readonly id?: string;
  /** For the log; of a pause also for the step. At most 1,000 characters. */
  readonly why?: string;
}

/** What became of it. The status is 200 however a run ended; another one says that nothing was done, with a {@link Refusal}. */
export interface Answer {
  readonly action: Action;
  readonly id?: string;
  /** `pending`: a run that has not succeeded or been dropped after 10 s; it goes on, and so do its retries. `done`: a command was given. */
  readonly outcome: 'succeeded' | 'failed' | 'pending' | 'done';
  /** Why it failed. */
  readonly error?: ErrorDescription;
}

/** The body of an answer whose status is not 200. */
export interface Refusal {
  readonly error: string;
}

/** What is put into the page, as JSON. */
export interface PageData {
  /** Where the page is, with a slash at its end. */
  readonly base: string;
  /** The names for `api/NAME`; they are to be encoded. */
  readonly controllers: readonly string[];
}
