import { isPromiseLike } from '../../../operators/observable-input.js';
import { describeError } from '../../describe-error.js';
import { lateAnswer } from './late-answer.js';
import type { Timer } from '../virtual-scheduler.js';
import type { Fault } from './schedule.js';
import type { Caller } from './environment.js';

const NOTES: Readonly<Record<string, string>> = {
  lost: ', and its answer is lost',
  slow: ', late',
  overtime: ', and its answer is over time',
};

/** Something that an attempt reads or changes: due when it happens, and what can go wrong then. */
export class Operation<W, T> implements Timer {
  due = 0;
  order = 0;
  index = -1;
  readonly answer: Promise<T>;
  #resolve: (value: T) => void = () => undefined;
  #reject: (error: unknown) => void = () => undefined;

  constructor(
    readonly attempt: Caller<W>,
    readonly name: string,
    readonly fn: (world: W, at: number) => T,
    readonly isEffect: boolean,
    readonly fault: Fault | undefined,
  ) {
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  run(): void {
    const { attempt, name, fault } = this;
    const { environment, host, id } = attempt;
    if (fault?.kind === 'crash' && host.isAlive) {
      environment.log(`${id}: the process crashes instead of \`${name}\``);
      host.crash(fault.ms);
      return;
    }
    if (fault?.kind === 'fail') {
      this.#log(' fails');
      this.#failed(new Error(`Simulated: \`${name}\` failed`));
      return;
    }
    let value: T;
    try {
      value = this.fn(this.isEffect ? environment.world : environment.seen, environment.elapsed);
      if (!this.isEffect && !isPromiseLike(value)) value = environment.copy(value);
    } catch (error) {
      this.#log(` throws ${describeError(error).message}`);
      this.#failed(error);
      return;
    }
    if (isPromiseLike(value)) {
      environment.scenarioFault(lateAnswer(`the function that \`${id}\` gave to \`${name}\``, value));
      return;
    }
    this.#log(NOTES[fault?.kind ?? ''] ?? '');
    if (this.isEffect) environment.changed(name, id, value);
    if (fault?.kind === 'lost') this.#failed(new Error(`Simulated: the answer of \`${name}\` was lost`));
    else if (fault?.kind === 'overtime')
      environment.postpone((environment.limit === Infinity ? 0 : environment.limit) + fault.ms, () => {
        this.#succeeded(value);
      });
    else this.#succeeded(value);
  }

  #succeeded(value: T): void {
    if (this.attempt.unpark()) this.#resolve(value);
  }

  #failed(error: unknown): void {
    this.attempt.environment.failedBy(error);
    if (this.attempt.unpark()) this.#reject(error);
  }

  #log(what: string): void {
    const { environment, id } = this.attempt;
    if (this.isEffect) environment.log(`${id}: \`${this.name}\`${what}`);
  }
}
