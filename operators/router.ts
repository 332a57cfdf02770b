import { Observable } from 'rxjs';
import type { ReconcileSettings } from './config.js';
import { route } from './route.js';
import type { Trampoline } from './trampoline.js';
import type { Trigger } from './types.js';

/** The group of what was rejected, to which nobody listens. A number, as lanes are, for groups are found by it. */
export const NOWHERE = -1;

/** Routes the events of a loop. What a hasher does to end it waits until the event that is being routed has its step (A1). */
export class Router {
  #isRouting = false;
  readonly #waiting: (() => void)[] = [];

  constructor(
    readonly settings: ReconcileSettings,
    readonly trampoline: Trampoline,
  ) {}

  /** The lane of an event; {@link NOWHERE} if it was rejected. */
  route(event: string | Trigger): number {
    const { settings, trampoline } = this;
    const wasRouting = this.#isRouting;
    this.#isRouting = true;
    const routed = route(event, settings);
    this.#isRouting = wasRouting;
    if (this.#waiting.length > 0 && !wasRouting) for (const work of this.#waiting.splice(0)) trampoline.ask(work);
    if (typeof routed === 'number') return routed;
    trampoline.emit(routed);
    return NOWHERE;
  }

  /** Calls `work` now, or if an event is being routed as soon as it has its step. */
  afterwards(work: () => void): void {
    if (this.#isRouting) this.#waiting.push(work);
    else work();
  }

  /** Completes when no event is being routed. */
  readonly routed = new Observable<never>((subscriber) => {
    this.afterwards(() => {
      subscriber.complete();
    });
  });
}
