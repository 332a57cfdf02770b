import { ignoreElements, type Observable, Subscription, tap } from 'rxjs';
import type { ReconcileSettings } from './config.js';
import { notOwned } from './route.js';
import { Shutdown } from './shutdown.js';
import type { Trampoline } from './trampoline.js';
import type { Trigger } from './types.js';
import type { Workqueue } from './workqueue.js';

/** The beginning of a term in which the lane of one worker may run. */
export class LaneTerm {
  /**
   * @param until - emits `'revoked'` when another is to have the lane: what runs may finish. It ends when the term is lost: what runs is
   * cut off. Unsubscribing lets go of the term, and is done when nothing of it runs any more
   * @param letGo - called first of all when it is revoked or lost, as long as nothing can start: what feeds the lane is to be let go of
   */
  constructor(
    readonly worker: number,
    readonly until: Observable<'revoked'>,
    readonly letGo: () => void = () => undefined,
  ) {}
}

/** A lane, as its tenure sees it. */
export interface TenuredLane {
  readonly queue: Workqueue;
  readonly settings: ReconcileSettings;
  readonly trampoline: Trampoline;
  /** It will never start anything again. */
  readonly isStopping: boolean;
  /** A turn is asked for or going on. */
  readonly isBusy: boolean;
  now(): number;
  /** All work is cut off and dropped. */
  reset(): void;
  /** What has changed may let something start, or be the end. */
  go(): void;
  /** Keeps `work` for later if nothing may change now, and says so. */
  defer(work: () => void): boolean;
}

/**
 * The terms of one lane, which it outlives: what a promise that is open holds up is held up in the next term as well (L7). It
 * lets go of a term when it is at rest, so nobody need be told.
 */
export class Tenure {
  /** Begins the terms, and must be subscribed to before there are events. */
  readonly terms: Observable<never>;
  #isOpen = false;
  #held: Subscription | undefined;
  /** While what runs may finish. */
  #leaving: Shutdown | undefined;

  constructor(
    readonly lane: TenuredLane,
    terms: Observable<LaneTerm>,
  ) {
    this.terms = terms.pipe(
      tap((term) => {
        this.#begin(term);
      }),
      ignoreElements(),
    );
  }

  /** Whether an event is taken. If not, a step has said so. */
  admits(event: string | Trigger): boolean {
    const { queue, settings, trampoline } = this.lane;
    const isOpen = this.#isOpen;
    // Whoever sees that step may open it.
    if (!isOpen) trampoline.emit(notOwned(event, queue.worker, settings));
    return isOpen;
  }

  #begin({ until, letGo }: LaneTerm): void {
    if (this.lane.isStopping) return;
    // One that nobody has ended is over all the same.
    const before = this.#held;
    if (before !== undefined) {
      this.#over(() => {
        this.#lose(before);
      });
    }
    // To let go of it was user code.
    // eslint-disable-next-line @typescript-eslint/no-unnecessary-condition -- it may have changed since it was looked at above
    if (this.lane.isStopping) return;
    this.lane.queue.reopen();
    const held = new Subscription();
    this.#held = held;
    this.#isOpen = true;
    const lose = (): void => {
      this.#over(() => {
        letGo();
        this.#lose(held);
      });
    };
    const revoke = (): void => {
      this.#over(() => {
        letGo();
        this.#revoke(held);
      });
    };
    held.add(until.subscribe({ next: revoke, error: lose, complete: lose }));
  }

  /** What is let go of in `end` has teardowns, which are user code, and may end a run: the next one must not start for that (L2, H5). */
  #over(end: () => void): void {
    this.lane.trampoline.holdBack(end);
  }

  /** What has happened may have been the end of what runs. */
  look(): void {
    this.#leaving?.look();
  }

  /** The lane has ended, and nothing of it runs. */
  end(): void {
    if (this.#held !== undefined) this.#letGo(this.#held);
  }

  #revoke(held: Subscription): void {
    if (this.#held !== held || this.#leaving !== undefined) return;
    this.#isOpen = false;
    const { lane } = this;
    if (
      lane.defer(() => {
        this.#revoke(held);
      })
    )
      return;
    if (!lane.isStopping) lane.queue.close('moved', lane.now());
    this.#leaving = new Shutdown(
      lane.settings,
      lane.queue,
      () => lane.isBusy,
      () => {
        lane.reset();
      },
      () => {
        // The steps that say so are seen first (A5).
        lane.trampoline.flush(() => {
          this.#letGo(held);
        });
      },
    );
    this.#leaving.stop();
    lane.go();
  }

  #lose(held: Subscription): void {
    if (this.#held !== held) return;
    this.#letGo(held);
    const { lane } = this;
    const cutOff = (): void => {
      if (!lane.defer(cutOff)) lane.reset();
    };
    cutOff();
  }

  #letGo(held: Subscription): void {
    if (this.#held !== held) return;
    this.#leaving?.cancel();
    this.#held = this.#leaving = undefined;
    this.#isOpen = false;
    held.unsubscribe();
  }
}

/** Makes a lane run in `terms` only. */
export function inTerms(terms: Observable<LaneTerm>): (lane: TenuredLane) => Tenure {
  return (lane) => new Tenure(lane, terms);
}
