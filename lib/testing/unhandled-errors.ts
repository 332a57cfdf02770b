import { config } from 'rxjs';

/**
 * Hears of what observers have thrown, and of errors that have no observer: RxJS hands these to one handler for all, and
 * throws them out of a timer if there is none. While nobody listens, that handler is left alone.
 */
export class UnhandledErrors {
  #listeners = 0;
  #before: typeof config.onUnhandledError = null;

  /** @param report - is given each error, and whether the user has a handler for it; returns whether it is dealt with */
  constructor(readonly report: (error: unknown, isHandled: boolean) => boolean) {}

  listen(): void {
    if (this.#listeners++ > 0) return;
    this.#before = config.onUnhandledError;
    config.onUnhandledError = this.#handle;
  }

  leave(): void {
    if (--this.#listeners === 0 && config.onUnhandledError === this.#handle) config.onUnhandledError = this.#before;
  }

  readonly #handle = (error: unknown): void => {
    const before = this.#before;
    const isDealtWith = this.report(error, before !== null);
    if (before !== null) before(error);
    else if (!isDealtWith) throw error;
  };
}
