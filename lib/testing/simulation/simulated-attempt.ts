import type { Reason, ReconcileContext } from '../../../operators/types.js';
import { Operation } from './operation.js';
import type { Replica } from './replica.js';
import type { SimulationContext } from './scenario.js';
import type { Simulation } from './simulation.js';

/**
 * One call of the simulated reconciler, and its handles to the world. It is parked while it awaits one of them; else it
 * is busy, and time must not pass.
 */
export class SimulatedAttempt<W> implements SimulationContext<W> {
  readonly id: string;
  readonly worker: number;
  readonly workerName: string;
  readonly attempt: number;
  readonly reason: Reason;
  readonly streams: readonly string[];
  #pending = 0;
  #isOver = false;
  /** It goes on though its term has ended. */
  #isZombie = false;

  constructor(
    readonly simulation: Simulation<W>,
    readonly replica: Replica<W>,
    readonly context: ReconcileContext,
  ) {
    const { id, worker, workerName, attempt, reason, streams } = context;
    this.id = id;
    this.worker = worker;
    this.workerName = workerName;
    this.attempt = attempt;
    this.reason = reason;
    this.streams = streams;
    simulation.busy++;
  }

  get signal(): AbortSignal {
    return this.context.signal;
  }

  // Properties, because they are taken apart: `(id, { read, effect }) => ...`.
  readonly read = <T>(fn: (world: W, at: number) => T): Promise<T> => this.#operate('read', fn, false);

  readonly effect = <T>(name: string, fn: (world: W, at: number) => T): Promise<T> => this.#operate(name, fn, true);

  readonly sleep = (ms: number): Promise<void> => {
    this.park('sleep');
    return new Promise((resolve) => {
      this.simulation.scheduler.after(ms, () => {
        if (this.unpark()) resolve();
      });
    });
  };

  /** The reconciler has answered. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (this.#pending === 0) this.simulation.busy--;
    this.die();
  }

  /** Its term has ended, and it goes on. */
  outlive(): void {
    if (!this.#isZombie) this.simulation.zombies++;
    this.#isZombie = true;
  }

  /** It does nothing more. */
  die(): void {
    if (this.#isZombie) this.simulation.zombies--;
    this.#isZombie = false;
  }

  /** It awaits a handle. */
  park(name: string): void {
    if (this.#isOver) {
      throw this.simulation.misused(
        `\`${name}\` of \`${this.id}\` was called outside of an attempt: the reconciler had answered already. Is an \`await\` missing?`,
      );
    }
    if (this.#pending++ === 0) this.simulation.busy--;
  }

  /** It gets its answer, if its process is there to hear it. */
  unpark(): boolean {
    if (!this.replica.isAlive) return false;
    if (--this.#pending === 0 && !this.#isOver) this.simulation.busy++;
    this.simulation.stir(this.#pending > 0);
    return true;
  }

  #operate<T>(name: string, fn: (world: W, at: number) => T, isEffect: boolean): Promise<T> {
    this.park(name);
    const { simulation } = this;
    const operation = new Operation(this, name, fn, isEffect, simulation.operationFault(this.id));
    if (operation.fault?.kind === 'slow') simulation.laterRun(operation.fault.ms, operation);
    else simulation.scheduler.add(0, operation);
    return operation.answer;
  }
}
