import type { SchedulerLike } from 'rxjs';
import { checkDelay, checkDuration, checkFunction } from '../../operators/check.js';
import { RealWaits } from './real-waits.js';
import { settle, settleTimers } from './settle.js';
import { VirtualScheduler } from './virtual-scheduler.js';

/** How many macrotasks in a row the code under test may ask for at one moment of virtual time. */
const PATIENCE = 1000;

/** Virtual time, as the body of {@link virtualTime} sees it. It begins at 0. */
export interface VirtualClock {
  /** For `config.scheduler`, and for `timer`, `interval`, `delay` of rxjs. */
  readonly scheduler: SchedulerLike;
  /** How much virtual time has passed, in ms. */
  readonly now: () => number;
  /**
   * Runs everything that is due within the next `ms`, tick by tick, and lets promise jobs settle after each; resolves when
   * that is done. What runs at the last moment is included. Rejects with what an action threw, or if the code under test
   * waits for something that virtual time cannot bring.
   */
  readonly advance: (ms: number) => Promise<void>;
  /**
   * Resolves after `ms` of virtual time: for the reconciler under test. Rejects with the reason of `signal` as soon as
   * that aborts.
   */
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
}

/**
 * Runs `body` in virtual time, in which reconcilers may be `async` functions: an hour passes as fast as it can be computed,
 * the same way each time. Resolves or rejects as `body` does.
 *
 * Virtual time passes in {@link VirtualClock.advance} only. It cannot wait for the real world: if the code under test has
 * asked for a file, a socket or a real timer, the promise rejects and says for what and where, instead of hanging; and
 * likewise if `body` awaits what nobody will bring. What keeps no process alive (a timer without a reference, an idle
 * handle) and what is done at once (`randomUUID`, `gzipSync`) is none of that. Rejects with what an observer has thrown,
 * unless `config.onUnhandledError` of rxjs is set. Needs Node.
 *
 * @example
 * it('should poll every minute', () => virtualTime(async (clock) => {
 *   const steps: Step[] = [];
 *   const poll = async () => { await clock.sleep(100); return { requeueDelay: 60_000 }; };
 *   of('a').pipe(reconcile(poll, { scheduler: clock.scheduler })).subscribe((step) => steps.push(step));
 *   await clock.advance(3_600_000);
 *   assert.equal(steps.filter(({ kind }) => kind === 'started').length, 60);
 * }));
 */
export async function virtualTime<T>(body: (clock: VirtualClock) => Promise<T>): Promise<T> {
  checkFunction('body', body);
  return inVirtualTime(body);
}

/** @param hint - what to do if something waits for the real world */
export async function inVirtualTime<T>(body: (clock: Clock) => Promise<T>, hint?: string): Promise<T> {
  const waits = new RealWaits();
  const clock = new Clock(waits, hint);
  return waits.watch(async () => {
    const result = body(clock);
    const over = (): void => {
      clock.isOver = true;
    };
    Promise.resolve(result).then(over, over);
    while (!clock.isOver) {
      await Promise.allSettled([clock.advancing]);
      const wait = await clock.settle();
      if (clock.isStuck) throw clock.stuck(wait);
    }
    return result;
  });
}

export class Clock implements VirtualClock {
  readonly scheduler = new VirtualScheduler();
  /** The call of `advance` that is going on. */
  advancing: Promise<void> | undefined;
  /** The body has resolved or rejected. */
  isOver = false;

  constructor(
    readonly waits: RealWaits,
    readonly hint = 'Use `clock.sleep`, and give `clock.scheduler` to whatever takes a scheduler',
  ) {}

  get isStuck(): boolean {
    return !this.isOver && this.advancing === undefined;
  }

  // Properties, because they are taken apart: `({ advance, sleep }) => ...`.
  readonly now = (): number => this.scheduler.elapsed;

  readonly advance = async (ms: number): Promise<void> => {
    checkDelay('ms', ms);
    await this.#advance(() => this.#passTo(this.now() + ms));
  };

  /** Runs what is due before `end`, and what is due then as long as there is not enough of it. One thing is run after the other. */
  readonly advanceUntil = (end: number, isEnough: () => boolean): Promise<void> =>
    this.#advance(async () => {
      const { scheduler } = this;
      await this.#settled();
      while (scheduler.next < end || (scheduler.next <= end && !isEnough())) {
        scheduler.runNext();
        await this.#settled();
      }
      scheduler.passTo(end);
    });

  readonly sleep = (ms: number, signal?: AbortSignal): Promise<void> => {
    checkDuration('ms', ms);
    const over = RealWaits.noteAround(this.waits, this.sleep);
    return new Promise((resolve, reject) => {
      const abort = (): void => {
        this.scheduler.cancel(timer);
        over();
        // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- whatever the reason is
        reject(signal?.reason);
      };
      const timer = this.scheduler.after(ms, () => {
        signal?.removeEventListener('abort', abort);
        over();
        resolve();
      });
      if (signal?.aborted === true) abort();
      else signal?.addEventListener('abort', abort, { once: true });
    });
  };

  /**
   * Lets promise jobs settle, and the macrotasks that the code under test may ask for. Resolves with what it still waits
   * for, `''` if that is nothing.
   *
   * @throws what an observer has thrown
   */
  async settle(): Promise<string> {
    const { waits } = this;
    for (let i = 0; i < PATIENCE; i++) {
      const before = waits.immediates;
      await RealWaits.ignore(settle);
      if (waits.inside.size > 0) await Promise.allSettled(waits.inside);
      else if (waits.immediates === before) return waits.isQuiet ? '' : this.#described();
    }
    throw new Error(`Virtual time stands still at ${String(this.now())} ms: \`setImmediate\` is called again and again`);
  }

  /** Why nothing goes on, though the body is not over. */
  stuck(wait: string): Error {
    const { next } = this.scheduler;
    if (wait !== '') return this.#realWait(wait);
    return new Error(
      next === Infinity
        ? 'The body of `virtualTime` waits for something that will never come: no timer is set, nothing real is asked for'
        : `The body of \`virtualTime\` waits for virtual time: the next timer is due at ${String(next)} ms, call \`clock.advance\``,
    );
  }

  async #advance(pass: () => Promise<void>): Promise<void> {
    if (this.advancing !== undefined) throw new Error('Virtual time is advancing already: await each `advance` before the next');
    this.advancing = pass();
    try {
      await this.advancing;
    } finally {
      this.advancing = undefined;
    }
  }

  async #passTo(end: number): Promise<void> {
    const { scheduler } = this;
    await this.#settled();
    while (scheduler.next <= end) {
      // All that is due at one moment, and what it adds there, is one tick; but promise jobs come before the next.
      const tick = scheduler.next;
      for (let due = scheduler.size; due > 0 && scheduler.next === tick; due--) scheduler.runNext();
      await this.#settled();
    }
    scheduler.passTo(end);
  }

  async #settled(): Promise<void> {
    const wait = await this.settle();
    if (wait !== '') throw this.#realWait(wait);
  }

  /** What is waited for. A timer without a delay may be the report of an error, which then is why nothing goes on. */
  async #described(): Promise<string> {
    const { waits } = this;
    const { reports } = waits;
    const pending = waits.toString();
    if (waits.hasShortTimer) await RealWaits.ignore(settleTimers);
    if (waits.error !== undefined) throw waits.error.error;
    return waits.reports > reports ? this.settle() : pending;
  }

  #realWait(wait: string): Error {
    return new Error(
      `Virtual time cannot wait for the real world, and at ${String(this.now())} ms the code under test does:\n${wait}\n${this.hint}`,
    );
  }
}
