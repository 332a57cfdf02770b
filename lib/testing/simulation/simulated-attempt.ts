import type { Reason, ReconcileContext } from '../../../operators/types.js';
import { Operation } from './operation.js';
import type { SimulationContext } from './scenario.js';
import type { Asker, Host, Stage } from './stage.js';

/**
 * One call of the simulated reconciler, and its handles to the world. It is parked while it awaits one of them; else it
 * is busy, and time must not pass.
 */
export class SimulatedAttempt<W> implements SimulationContext<W>, Asker<W> {
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
    readonly stage: Stage<W>,
    readonly host: Host,
    readonly context: ReconcileContext,
  ) {
    const { id, worker, workerName, attempt, reason, streams } = context;
    this.id = id;
    this.worker = worker;
    this.workerName = workerName;
    this.attempt = attempt;
    this.reason = reason;
    this.streams = streams;
    stage.busy++;
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
      this.stage.scheduler.after(ms, () => {
        if (this.unpark()) resolve();
      });
    });
  };

  /** The reconciler has answered. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (this.#pending === 0) this.stage.busy--;
    this.die();
  }

  /** Its term has ended, and it goes on. */
  outlive(): void {
    if (!this.#isZombie) this.stage.zombies++;
    this.#isZombie = true;
  }

  /** It does nothing more. */
  die(): void {
    if (this.#isZombie) this.stage.zombies--;
    this.#isZombie = false;
  }

  /** It awaits a handle. */
  park(name: string): void {
    if (this.#isOver) {
      throw this.stage.misused(
        `\`${name}\` of \`${this.id}\` was called outside of an attempt: the reconciler had answered already. Is an \`await\` missing?`,
      );
    }
    if (this.#pending++ === 0) this.stage.busy--;
  }

  /** It gets its answer, if its process is there to hear it. */
  unpark(): boolean {
    if (!this.host.isAlive) return false;
    if (--this.#pending === 0 && !this.#isOver) this.stage.busy++;
    this.stage.stir(this.#pending > 0);
    return true;
  }

  #operate<T>(name: string, fn: (world: W, at: number) => T, isEffect: boolean): Promise<T> {
    this.park(name);
    const { stage } = this;
    const operation = new Operation(this, name, fn, isEffect, stage.operationFault(this.id));
    if (operation.fault?.kind === 'slow') stage.laterRun(operation.fault.ms, operation);
    else stage.scheduler.add(0, operation);
    return operation.answer;
  }
}
