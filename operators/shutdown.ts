import type { Subscription } from 'rxjs';
import { after } from './after.js';
import type { ReconcileSettings } from './config.js';
import type { Workqueue } from './workqueue.js';

/** How a worker comes to its end: it drains, because no more events will come, or it stops (P1, P2). */
export class Shutdown {
  #ending: 'draining' | 'stopping' | undefined;
  #grace: Subscription | undefined;

  /**
   * @param isBusy - whether a turn is asked for or going on
   * @param giveUp - called when the grace is over
   * @param done - called once nothing is left to wait for
   */
  constructor(
    readonly settings: ReconcileSettings,
    readonly queue: Workqueue,
    readonly isBusy: () => boolean,
    readonly giveUp: () => void,
    readonly done: () => void,
  ) {}

  get isEnding(): boolean {
    return this.#ending !== undefined;
  }

  get isDraining(): boolean {
    return this.#ending === 'draining';
  }

  get isStopping(): boolean {
    return this.#ending === 'stopping';
  }

  drain(): void {
    this.#ending ??= 'draining';
  }

  stop(): void {
    this.#ending = 'stopping';
    this.#awaitGrace();
  }

  /** What has happened may have been the end; or only abandoned ids are left, and these are not waited for without end. */
  look(): void {
    if (this.#ending === undefined) return;
    const { size, abandoned, resting } = this.queue;
    if (this.isBusy() || size > abandoned + resting) {
      if (this.isStopping) return;
      this.cancel();
    } else if (abandoned > 0) {
      this.#awaitGrace();
    } else {
      this.done();
    }
  }

  /** No timer of it must keep the process alive. */
  cancel(): void {
    this.#grace?.unsubscribe();
    this.#grace = undefined;
  }

  #awaitGrace(): void {
    const { shutdownGrace, scheduler } = this.settings;
    // eslint-disable-next-line rxjs-x/no-ignored-error -- it cannot fail
    this.#grace ??= after(shutdownGrace, scheduler).subscribe(() => {
      this.giveUp();
      this.done();
    });
  }
}
