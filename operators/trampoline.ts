import { Observable, type Subscriber, takeUntil } from 'rxjs';
import { captureAsyncContext } from './async-context.js';
import { Fifo } from './fifo.js';
import type { Step } from './types.js';

/**
 * Where the steps of a loop leave it, one at a time and in the order in which they were caused, and the trampoline on
 * which its lanes take their turns (A5, B2). Whoever changes state pushes the steps of it and then flushes; while a step is
 * being delivered, what it causes waits behind it, and no turn begins before all steps before it have been seen.
 */
export class Trampoline {
  readonly #steps = new Fifo<Step>();
  readonly #turns = new Fifo<() => void>();
  #delivering = false;
  #running = false;
  #end: (() => void) | undefined;
  /** See `moment`. Not `undefined` but NaN, for a number can be set in place. */
  #moment = NaN;
  /** What users wrote runs in the context of the subscription, not in that of whoever sends an event (F2). */
  readonly #inContext = captureAsyncContext();
  /** What is called in it: made once, as it is needed for each event. */
  readonly #bounce = (): void => {
    this.#run(this.#turns.shift());
  };

  constructor(readonly subscriber: Subscriber<Step>) {}

  /** Puts a step behind those that have not left yet. */
  push(step: Step): void {
    this.#steps.push(step);
  }

  /**
   * The `at` of the last step, as long as what it causes is going on: whatever is done meanwhile is done at that moment, and
   * need not read the clock, which is the dearest thing in the life of an event. NaN if no step is on the stack.
   */
  get moment(): number {
    return this.#moment;
  }

  /** Pushes one step and flushes. */
  emit(step: Step): void {
    this.push(step);
    this.flush();
  }

  /** Delivers what was pushed, unless that is going on already further up the stack. */
  deliver(): void {
    if (this.#delivering) return;
    this.#delivering = true;
    for (let step = this.#steps.shift(); step !== undefined; step = this.#steps.shift()) {
      this.#moment = step.at;
      this.subscriber.next(step);
    }
    this.#delivering = false;
  }

  /** Nobody listens any longer: nothing must start. */
  get isClosed(): boolean {
    return this.subscriber.closed;
  }

  /** Does `work`, and only then what is asked for meanwhile: a turn that begins before the end of a run's teardown would be early. */
  hold(work: () => void): void {
    if (this.#delivering || this.#running) {
      work();
      return;
    }
    this.#inContext(() => {
      this.#running = true;
      try {
        work();
      } finally {
        this.#running = false;
      }
      this.#run(undefined);
    });
  }

  /** Delivers what was pushed, and takes the turns that this or others ask for, unless further up the stack someone does. */
  flush(turn?: () => void): void {
    if (turn !== undefined) this.#turns.push(turn);
    if (this.#delivering || this.#running) this.deliver();
    else this.#inContext(this.#bounce);
  }

  /** As `flush`, for one who is in the context of the loop: what it has awaited there has settled. */
  goOn(turn: () => void): void {
    if (this.#delivering || this.#running) this.flush(turn);
    else this.#run(turn);
  }

  #run(turn: (() => void) | undefined): void {
    this.deliver();
    this.#running = true;
    for (let next = turn ?? this.#turns.shift(); next !== undefined; next = this.#turns.shift()) {
      if (!this.isClosed) next();
      this.deliver();
    }
    this.#running = false;
    this.#moment = NaN;
    this.#end?.();
  }

  /**
   * Emits what `source` does to all who listen, and delivers only then what that causes: when work is cut off, no lane may
   * start anything because of what it sees another drop (L2, P2).
   */
  heardByAll<T>(source: Observable<T>): Observable<T> {
    return new Observable<T>((subscriber) =>
      source.subscribe({
        next: (value) => {
          this.#inContext(() => {
            const delivering = this.#delivering;
            this.#delivering = true;
            subscriber.next(value);
            this.#delivering = delivering;
            this.flush();
          });
        },
        error: (error: unknown) => {
          subscriber.error(error);
        },
        complete: () => {
          subscriber.complete();
        },
      }),
    );
  }

  /** Calls `end` when nothing is left to deliver. */
  end(end: () => void): void {
    this.#end = end;
    this.flush();
  }
}

/**
 * Runs `work` with a trampoline of its own and emits the steps that leave by it; completes or fails with `work`.
 */
export function trampolined(work: (trampoline: Trampoline) => Observable<unknown>): Observable<Step> {
  // Made by hand: the end must wait in the same line as the steps.
  return new Observable((subscriber) => {
    const trampoline = new Trampoline(subscriber);
    // Whoever unsubscribes on seeing a step may do so before `subscribe` has returned; the work ends there and then (P3).
    const unsubscribed = new Observable<void>((notifier) => {
      subscriber.add(() => {
        notifier.next();
      });
    });
    return work(trampoline)
      .pipe(takeUntil(unsubscribed))
      .subscribe({
        error: (error: unknown) => {
          trampoline.end(() => {
            subscriber.error(error);
          });
        },
        complete: () => {
          trampoline.end(() => {
            subscriber.complete();
          });
        },
      });
  });
}
