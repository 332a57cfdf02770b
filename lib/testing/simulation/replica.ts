import { merge, Subject, type Subscription, tap } from 'rxjs';
import type { Command } from '../../../operators/command.js';
import { isAsyncIterable, isObservableInput, isPromiseLike, toObservable } from '../../../operators/observable-input.js';
import { reconcileWith } from '../../../operators/reconcile.js';
import type { Reconciler, Trigger } from '../../../operators/types.js';
import type { SimulatedStream, SimulationContext } from './scenario.js';
import { atOnce } from './late-answer.js';
import { SimulatedAttempt } from './simulated-attempt.js';
import type { Host, SimulationEnvironment } from './environment.js';
import { triggerOf } from './trigger-of.js';

/** One process: its memory, its loop, and whether it leads. A crash ends it; another takes its place. */
export class Replica<W> implements Host {
  isAlive = true;
  isLeading = false;
  readonly #events = new Subject<Trigger>();
  readonly #triggers = new Subject<Trigger>();
  readonly #reset = new Subject<void>();
  readonly #commands = new Subject<Command>();
  readonly #leading = new Subject<boolean>();
  /** By id. What has ended leaves its place: a Map through which ids flow copies itself again and again. */
  readonly #running = new Map<string, SimulatedAttempt<W> | undefined>();
  readonly #reconciler: Reconciler<SimulationContext<W>>;
  readonly #loop: Subscription;
  /** Distinguishes the resyncs of this term from those of an earlier one. */
  #term = 0;

  constructor(
    readonly environment: SimulationEnvironment<W>,
    readonly index: number,
    readonly process: number,
  ) {
    const { scheduler, random, scenario, settings } = environment;
    const made = scenario.reconciler({
      now: () => scheduler.now(),
      random,
      triggers: this.#triggers,
      commands: this.#commands,
      leading: this.#leading,
    });
    this.#reconciler = atOnce('`reconciler`', made, 'by the reconciler of a process, `() => async (id, context) => ...`', isFunction);
    // Last, so that whoever listens has heard a command before the loop obeys it.
    const commands = scenario.operator === undefined ? settings.commands : merge(settings.commands, this.#commands);
    // eslint-disable-next-line @typescript-eslint/no-unsafe-class-instance-assignment -- it is one: see `Context` below
    const reconciler: Reconciler = (id, context) => this.#run(id, context as SimulatedAttempt<W>);
    this.#loop = this.#events
      .pipe(reconcileWith(reconciler, { ...settings, commands, reset: this.#reset }, { Context: SimulatedAttempt }))
      .subscribe({
        next: (step) => {
          environment.stepped(step, index, process);
        },
        error: (error: unknown) => {
          environment.fail('the loop failed', error);
        },
        complete: () => {
          environment.fail('the loop completed');
        },
      });
  }

  /** An attempt goes on, which may hold something real. */
  get isBusy(): boolean {
    return [...this.#running.values()].some((attempt) => attempt !== undefined);
  }

  lead(): void {
    if (!this.isAlive || this.isLeading) return;
    this.isLeading = true;
    this.#term++;
    this.#leading.next(true);
    for (const [name, stream] of this.environment.streams) this.#list(name, stream, this.#term);
  }

  stepDown(): void {
    if (!this.isLeading) return;
    this.isLeading = false;
    // They may ignore their signals, and act on what they read in this term.
    for (const attempt of this.#running.values()) attempt?.becomeStale();
    this.#leading.next(false);
    this.#reset.next();
  }

  command(command: Command): void {
    if (this.isAlive) this.#commands.next(command);
  }

  deliver(trigger: Trigger): void {
    if (!this.isLeading) return;
    if (this.#triggers.observed) this.#triggers.next(trigger);
    this.#events.next(trigger);
  }

  crash(downtime: number): void {
    const { environment } = this;
    this.end();
    environment.postpone(downtime, () => {
      environment.startProcess(this.index);
    });
  }

  end(): void {
    this.isAlive = this.isLeading = false;
    for (const attempt of this.#running.values()) attempt?.die();
    this.#loop.unsubscribe();
  }

  #list(name: string, stream: SimulatedStream<W>, term: number): void {
    const { list, every } = stream;
    if (list === undefined || !this.isLeading || term !== this.#term) return;
    const { environment } = this;
    const ids = atOnce(`the \`list\` of \`${name}\``, list(environment.seen, environment.elapsed), 'by an iterable of ids', isIterable);
    for (const id of ids) this.deliver(triggerOf(id, name, stream));
    if (every === undefined) return;
    environment.scheduler.after(every, () => {
      this.#list(name, stream, term);
    });
  }

  #run(id: string, attempt: SimulatedAttempt<W>): ReturnType<Reconciler> {
    if (this.#running.get(id) !== undefined) this.environment.fail(`\`${id}\` ran twice at once`);
    attempt.begin(this.environment, this);
    this.#running.set(id, attempt);
    // A native promise reaches the engine right after us; anything else takes longer.
    let isHeardAtOnce = false;
    const end = (): void => {
      this.#running.set(id, undefined);
      attempt.end();
      if (this.isAlive && !isHeardAtOnce) this.environment.awaitJobs(true);
    };
    let answer: ReturnType<Reconciler>;
    try {
      answer = this.#reconciler(id, attempt);
    } catch (error) {
      end();
      throw error;
    }
    if (isPromiseLike(answer)) {
      // Before the engine's own callbacks, and without a promise in between: time stands still until the engine has heard.
      isHeardAtOnce = Promise.resolve(answer) === answer;
      answer.then(end, end);
      return answer;
    }
    if (isAsyncIterable(answer)) return untilEnd(answer, end);
    if (isObservableInput(answer)) {
      const cut = (): void => {
        attempt.isCut = true;
        end();
      };
      return toObservable(answer).pipe(tap({ error: end, complete: end, unsubscribe: cut }));
    }
    end();
    return answer;
  }
}

function isFunction(answer: unknown): boolean {
  return typeof answer === 'function';
}

/** Strings do not count: their letters are no ids. */
function isIterable(answer: unknown): boolean {
  return typeof answer === 'object' && answer !== null && Symbol.iterator in answer;
}

async function* untilEnd<T>(values: AsyncIterable<T>, end: () => void): AsyncGenerator<T> {
  try {
    yield* values;
  } finally {
    end();
  }
}
