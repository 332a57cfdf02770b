import type { Dropped, Rejected, Step, Trigger } from '../operators/types.js';
import { InFlightMessages, isGood } from './in-flight-messages.js';

/** Someone who waits for an event of his own. */
interface Waiting {
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Who waits for a run that started after his event: `acknowledge`, with promises for messages. */
export class Requests {
  readonly #waiting = new Map<Trigger, Waiting>();
  readonly #inFlight = new InFlightMessages<Trigger>((trigger) => (this.#waiting.has(trigger) ? [{ message: trigger }] : []));

  /**
   * Hands an event of `trigger` to `send`, and waits for what becomes of it. Rejects with the error that it was dropped or rejected
   * with, else with one that names the reason; with `signal.reason` if that aborts first, which ends only the waiting.
   */
  wait(trigger: Trigger, signal: AbortSignal | undefined, send: (trigger: Trigger) => void): Promise<void> {
    const waited = new Promise<void>((resolve, reject) => {
      signal?.throwIfAborted();
      const abort = (): void => {
        end();
        reject(signal?.reason as Error);
      };
      const end = (): void => {
        this.#waiting.delete(trigger);
        signal?.removeEventListener('abort', abort);
      };
      signal?.addEventListener('abort', abort);
      this.#waiting.set(trigger, {
        resolve: () => {
          end();
          resolve();
        },
        reject: (error) => {
          end();
          reject(error);
        },
      });
      try {
        send(trigger);
      } catch (error) {
        end();
        throw error;
      }
    });
    return waited;
  }

  /** To be called with each step. */
  enter(step: Step): void {
    // Nobody waits, and nobody's event is in flight: the steps are none of our business.
    if (this.#waiting.size === 0 && this.#inFlight.isEmpty) return;
    for (const { message, step: outcome } of this.#inFlight.enter(step)) {
      const waiting = this.#waiting.get(message);
      if (isGood(outcome)) waiting?.resolve();
      else waiting?.reject(errorOf(outcome));
    }
  }

  /** Nothing will happen any more. */
  end(): void {
    for (const [{ id }, { reject }] of this.#waiting) reject(new Error(`\`${id}\` was not reconciled: the controller has ended`));
  }
}

function errorOf(outcome: Rejected | Dropped): unknown {
  const { id, kind, error } = outcome;
  if (error !== undefined || (kind === 'dropped' && outcome.failure !== undefined)) return error;
  return new Error(`\`${id}\` was ${kind}: ${outcome.reason}`);
}
