import type { Observable, Observer, Subscription } from 'rxjs';
import type { Attempt } from './attempt.js';
import type { Entry } from './entry.js';
import { isAsyncIterable, isObservableInput, isOurs, isPromiseLike, toObservable } from './observable-input.js';
import { type Outcome, outcomeOf } from './outcome.js';
import { report } from './report.js';

/** What becomes of runs that did not end while they were called. */
export interface SlotObserver {
  /** Does `work`, in which nothing of the loop starts. */
  hold(work: () => void): void;
  settled(entry: Entry, outcome: Outcome): void;
  /** The promise of a run that was cut off has settled. */
  released(entry: Entry): void;
}

/** Where a run's answer is awaited. It is used again by the next run, with its callbacks, unless it was cut off. */
export class Slot implements Observer<unknown> {
  entry: Entry | undefined;
  /** What its run was given, once it was called. Not in the entry: each of many that wait would be an old object pointing to a young one. */
  context: Attempt | undefined;
  /** What is to be unsubscribed; promises have nothing of the kind. */
  subscription: Subscription | undefined;
  outcome: Outcome | undefined;
  /** The reconciler, or the teardown of what it returned, is on the stack: the run has not ended, whatever it has said. */
  onStack = false;
  /** The run has ended, but nobody has noted it yet. */
  hasEnded = false;
  isCut = false;
  /** It was cut off, and went on all the same. */
  isOpen = false;
  #last: unknown;

  constructor(readonly observer: SlotObserver) {}

  take(answer: unknown): void {
    if (answer === undefined || answer === null) this.fulfilled(undefined);
    // As `await` does it: a promise's own `then` may call back twice.
    else if (isPromiseLike(answer)) void Promise.prototype.then.call(Promise.resolve(answer), this.fulfilled, this.error);
    else this.#takeOther(answer);
  }

  #takeOther(answer: unknown): void {
    if (isOurs(answer)) this.#listen(answer);
    else if (isAsyncIterable(answer)) void lastOf(answer, this).then(this.fulfilled, this.error);
    else if (isObservableInput(answer) && !isCollection(answer)) this.#listen(toObservable(answer));
    else this.fulfilled(answer);
  }

  #listen(answers: Observable<unknown>): void {
    if (this.isCut) {
      this.fulfilled(answers);
      return;
    }
    const subscription = answers.subscribe(this);
    // One that has ended already must not be taken for that of the next run.
    if (this.outcome === undefined) this.subscription = subscription;
  }

  readonly fulfilled = (value: unknown): void => {
    this.#settle(outcomeOf(value));
  };

  readonly next = (value: unknown): void => {
    this.#last = value;
  };

  readonly error = (error: unknown): void => {
    this.#settle({ failure: 'thrown', error });
  };

  readonly complete = (): void => {
    this.fulfilled(this.#last);
  };

  release(): void {
    if (this.isOpen && this.entry !== undefined) this.observer.released(this.entry);
  }

  #settle(outcome: Outcome): void {
    this.#last = undefined;
    const { subscription } = this;
    if (this.onStack) {
      this.outcome = outcome;
    } else if (subscription === undefined || this.isCut) {
      this.#end(outcome);
    } else {
      // It tears down what it was subscribed to only after it has said so. What that holds must be free for the next run.
      this.observer.hold(() => {
        this.onStack = true;
        unsubscribed(subscription);
        this.onStack = false;
        this.#end(outcome);
      });
    }
  }

  #end(outcome: Outcome): void {
    if (this.isCut) {
      this.release();
    } else if (this.entry !== undefined) {
      this.hasEnded = true;
      this.observer.settled(this.entry, outcome);
    }
  }
}

/** Iterable, but not of answers: an empty one would say nothing, and pass for done. */
function isCollection(answer: unknown): boolean {
  return (
    ArrayBuffer.isView(answer) || /^\[object (Map|String|Headers|FormData|URLSearchParams)]$/.test(Object.prototype.toString.call(answer))
  );
}

/** A teardown is user code; the loop goes on, whatever it throws (B1). */
export function unsubscribed(subscription: Subscription | undefined): void {
  try {
    subscription?.unsubscribe();
  } catch (error) {
    report(error);
  }
}

/** An async iterable cannot be stopped while it awaits, so it counts as a promise of its last value. */
async function lastOf(values: AsyncIterable<unknown>, slot: Slot): Promise<unknown> {
  let last: unknown;
  for await (const value of values) {
    if (slot.isCut) break;
    last = value;
  }
  return last;
}
