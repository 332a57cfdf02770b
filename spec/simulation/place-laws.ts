import type { Known } from './known.js';

export interface PlaceLimits {
  readonly workerConcurrency: number;
  readonly concurrency: number;
  /** How many of one key may run at once in a worker, and what the key of an id is. */
  readonly ofKey: { readonly concurrency: number; readonly key: (id: string) => string } | undefined;
  /** First come, first served. */
  readonly isFifo: boolean;
}

/** The laws of W that say who may start, and who is next. */
export class PlaceLaws {
  #position = 0;
  /** What one resume lets stand in line again comes in no order that steps tell. */
  #isResuming = false;
  /** How often, while a worker waited for a place, each of the others has started something. */
  readonly #passed = new Map<number, Map<number, number>>();

  constructor(readonly limits: PlaceLimits) {}

  /** It stands at the end of its line. */
  join(known: Known): void {
    known.position = this.#isResuming ? this.#position : ++this.#position;
  }

  /** It does so together with others. */
  joinTogether(known: Known): void {
    if (!this.#isResuming) this.#position++;
    this.#isResuming = true;
    known.position = this.#position;
  }

  /** `known` starts. */
  start(known: Known, ids: readonly Known[], law: (name: string, holds: boolean) => void): void {
    const { workerConcurrency, concurrency, isFifo } = this.limits;
    const running = ids.filter(({ state }) => state === 'running');
    law(
      'W1: no more of a worker than `workerConcurrency`',
      running.filter(({ worker }) => worker === known.worker).length < workerConcurrency,
    );
    law('W2: no more of the loop than `concurrency`', running.length < concurrency);
    law('W3: no more of a key than may', known.isForced || !this.#isAtItsLimit(known, ids));
    const standing = ids.filter((other) => other !== known && other.worker === known.worker && other.state === 'ready' && !other.isPaused);
    law('W6: what is forced runs next', known.isForced || !standing.some(({ isForced }) => isForced));
    if (known.isForced || isFifo) {
      const line = standing.filter(({ isForced }) => isForced === known.isForced);
      law('S4, W6: first come, first served', !line.some(({ position }) => position < known.position));
    }
    for (const [worker, passed] of this.#passed) {
      if (worker === known.worker) continue;
      const times = (passed.get(known.worker) ?? 0) + 1;
      law(`W2: worker ${worker} is passed by another only once`, times <= 1);
      passed.set(known.worker, times);
    }
    this.#passed.delete(known.worker);
  }

  /** Something has happened: looks who waits for a place. `isResuming`: what one resume causes may go on. */
  look(ids: readonly Known[], isLoopPaused: boolean, isResuming: boolean): void {
    if (!isResuming) this.#isResuming = false;
    const { concurrency } = this.limits;
    const isFull = ids.filter(({ state }) => state === 'running').length >= concurrency;
    for (const worker of new Set(ids.map((known) => known.worker))) {
      if (!isFull || isLoopPaused || !this.#wantsToStart(worker, ids)) this.#passed.delete(worker);
      else if (!this.#passed.has(worker)) this.#passed.set(worker, new Map());
    }
  }

  /** The law that is broken, if time goes on now. */
  undone(ids: readonly Known[], isLoopPaused: boolean): string | undefined {
    if (isLoopPaused || ids.filter(({ state }) => state === 'running').length >= this.limits.concurrency) return undefined;
    const waits = ids.find(({ worker }) => this.#wantsToStart(worker, ids));
    return waits === undefined ? undefined : `W1: no id of worker ${waits.worker} waits that could start`;
  }

  /** A worker below its own limit has an id that its order would start. */
  #wantsToStart(worker: number, ids: readonly Known[]): boolean {
    const own = ids.filter((known) => known.worker === worker);
    return (
      own.filter(({ state }) => state === 'running').length < this.limits.workerConcurrency &&
      own.some((known) => known.state === 'ready' && !known.isPaused && (known.isForced || !this.#isAtItsLimit(known, ids)))
    );
  }

  #isAtItsLimit({ id, worker }: Known, ids: readonly Known[]): boolean {
    const { ofKey } = this.limits;
    if (ofKey === undefined) return false;
    const { key, concurrency } = ofKey;
    const running = ids.filter((other) => other.worker === worker && other.state === 'running' && !other.hasForcedRun);
    return running.filter((other) => key(other.id) === key(id)).length >= concurrency;
  }
}
