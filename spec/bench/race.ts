import type { Figures } from './case.js';
import { Stopwatch } from './stopwatch.js';

/** Microseconds of CPU time an id. Who takes longer is not waited for: what it has done by then shows its speed well enough. */
const PATIENCE = 5;

/** But for this long anyone is waited for: at first all code is slow. */
export const WARM_UP = 500_000;

/** Never settles. Whoever runs on when a race is over must be halted, or its microtasks keep the event loop to themselves. */
export const halt = new Promise<never>(() => {});

/** Times how long `total` runs take, or how many there are until patience is lost. */
export class Race {
  readonly #stopwatch = new Stopwatch();
  #runs = 0;
  #finish!: (figures: Figures) => void;
  readonly finished = new Promise<Figures>((resolve) => {
    this.#finish = resolve;
  });

  /** @param patience - microseconds of CPU time an id */
  constructor(
    readonly total: number,
    readonly patience = PATIENCE,
  ) {}

  /** Counts a run; false if it was the last one. */
  goesOn(): boolean {
    const isOver =
      ++this.#runs === this.total || (this.#runs % 512 === 0 && this.#stopwatch.cpu > Math.max(this.patience * this.total, WARM_UP));
    // When the run has ended.
    if (isOver) setImmediate(() => this.#finish(this.#stopwatch.rate(this.#runs)));
    return !isOver;
  }
}
