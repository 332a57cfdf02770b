import { Attempt } from '../../../operators/attempt.js';
import { Operation } from './operation.js';
import type { SimulationContext } from './scenario.js';
import type { Caller, Host, SimulationEnvironment } from './environment.js';

/**
 * One call of the simulated reconciler, and its handles to the world. It is parked while it awaits one of them; else it
 * is busy, and time must not pass.
 */
export class SimulatedAttempt<W> extends Attempt implements SimulationContext<W>, Caller<W> {
  environment!: SimulationEnvironment<W>;
  host!: Host;
  /** It was an Observable, and was unsubscribed from. */
  isCut = false;
  #pending = 0;
  #isOver = false;
  /** It goes on though its term has ended. */
  #isStale = false;

  /** The engine has made it; from now on it is one of `host`. */
  begin(environment: SimulationEnvironment<W>, host: Host): void {
    this.environment = environment;
    this.host = host;
    environment.busy++;
  }

  // Getters, because they are taken apart, `(id, { read, effect }) => ...`, and most attempts take only some of them.
  get read() {
    return <T>(fn: (world: W, at: number) => T): Promise<T> => this.#operate('read', fn, false);
  }

  get effect() {
    return <T>(name: string, fn: (world: W, at: number) => T): Promise<T> => this.#operate(name, fn, true);
  }

  get sleep() {
    return (ms: number): Promise<void> => {
      this.park('sleep');
      return new Promise((resolve) => {
        this.environment.scheduler.after(ms, () => {
          if (this.unpark()) resolve();
        });
      });
    };
  }

  /** The reconciler has answered. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (this.#pending === 0) this.environment.busy--;
    this.die();
  }

  /** Its term has ended, and it goes on. */
  becomeStale(): void {
    if (!this.#isStale) this.environment.staleAttempts++;
    this.#isStale = true;
  }

  /** It does nothing more. */
  die(): void {
    if (this.#isStale) this.environment.staleAttempts--;
    this.#isStale = false;
  }

  /** It awaits a handle. */
  park(name: string): void {
    if (this.#isOver) {
      const call = `\`${name}\` of \`${this.id}\` was called`;
      throw this.environment.scenarioFault(
        this.isCut
          ? `${call} after the Observable around it was cut off, over time or with its term: an async function goes on all the same, while the loop may have started \`${this.id}\` again. Return its promise instead, which the loop waits for`
          : `${call} outside of an attempt: the reconciler had answered already. Is an \`await\` missing?`,
      );
    }
    if (this.#pending++ === 0) this.environment.busy--;
  }

  /** It gets its answer, if its process is there to hear it. */
  unpark(): boolean {
    if (!this.host.isAlive) return false;
    if (--this.#pending === 0 && !this.#isOver) this.environment.busy++;
    this.environment.awaitJobs(this.#pending > 0);
    return true;
  }

  #operate<T>(name: string, fn: (world: W, at: number) => T, isEffect: boolean): Promise<T> {
    this.park(name);
    const { environment } = this;
    const fault = environment.operationFault(this.id);
    const operation = new Operation(this, name, fn, isEffect, fault);
    // The world is not calm before the fault has struck, be it this very moment.
    if (fault === undefined) environment.scheduler.add(0, operation);
    else environment.postponeTimer(fault.kind === 'slow' ? fault.ms : 0, operation);
    return operation.answer;
  }
}
