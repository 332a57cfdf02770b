import { type Observable, ReplaySubject } from 'rxjs';
import type { ReconcileContext, Result, Step } from '../../operators/types.js';

/** A run as it was recorded. The replayed run ends when {@link RecordedRun.end} is called, or at once if that was before it. */
export class RecordedRun {
  /** The step that ended it; none if it was still running. */
  outcome: Step | undefined;
  /** It outlived its timeout or its term, as only a promise does. */
  wasAbandoned = false;
  readonly #settled = new ReplaySubject<Result>(1);
  #hasEnded = false;
  #context: ReconcileContext | undefined;

  end(): void {
    const { outcome } = this;
    this.#hasEnded = true;
    if (outcome === undefined || this.wasAbandoned) this.#settled.complete();
    else if (this.#context !== undefined) this.#end(outcome);
  }

  run(context: ReconcileContext): Observable<Result> | Promise<Result | void> | undefined {
    this.#context = context;
    if (this.#hasEnded && this.outcome !== undefined && !this.wasAbandoned) this.#end(this.outcome);
    if (!this.wasAbandoned) return this.#settled;
    // Cut off by what it did itself before it returned.
    if (this.#hasEnded) return undefined;
    return new Promise((resolve) => {
      // eslint-disable-next-line rxjs-x/no-ignored-error -- it cannot fail
      this.#settled.subscribe({
        complete: () => {
          resolve();
        },
      });
    });
  }

  /** The step of the event that it gave way to was seen, but the signal may abort only now. */
  #giveWay(): void {
    const superseded = this.#context?.superseded;
    const giveWay = (): void => {
      // eslint-disable-next-line rxjs-x/throw-error -- it is one, but a reason may be anything
      this.#settled.error(superseded?.reason);
    };
    if (superseded?.aborted === false) superseded.addEventListener('abort', giveWay, { once: true });
    else giveWay();
  }

  #end(outcome: Step): void {
    const failure = 'failure' in outcome ? outcome.failure : undefined;
    const error = 'error' in outcome ? outcome.error : undefined;
    if (failure === 'thrown') {
      this.#settled.error(error);
      return;
    }
    if (failure === 'superseded') {
      this.#giveWay();
      return;
    }
    if (failure === 'reported') this.#settled.next({ error });
    // An odd answer, as theirs was.
    else if (failure === 'invalid') this.#settled.next({ requeueDelay: NaN });
    else if (outcome.kind === 'requeued') this.#settled.next({ requeueDelay: outcome.delay });
    // A full delay queue drops the id whatever the delay is.
    else if (outcome.kind === 'dropped') this.#settled.next({ requeueDelay: 1 });
    this.#settled.complete();
  }
}
