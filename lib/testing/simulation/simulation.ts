import type { Command } from '../../../operators/command.js';
import { exponential } from '../../../operators/backoff.js';
import { type ReconcileSettings, reconcileSettings } from '../../../operators/config.js';
import { shown } from '../../../operators/shown.js';
import { isPromiseLike } from '../../../operators/observable-input.js';
import type { Step, Trigger } from '../../../operators/types.js';
import { describeError } from '../../describe-error.js';
import { greatest } from '../extremes.js';
import { settle } from '../settle.js';
import { type Timer, VirtualScheduler } from '../virtual-scheduler.js';
import { clone } from './clone.js';
import { atOnce, lateAnswer } from './late-answer.js';
import { SimulatedEventStream } from './simulated-event-stream.js';
import { type ScenarioFailure, ScenarioError } from './failure.js';
import { randomFrom } from './random.js';
import { PlannedChanges } from './planned-changes.js';
import { Replica } from './replica.js';
import type { Change, Random, Scenario, SimulatedStream } from './scenario.js';
import type { SimulationEnvironment } from './environment.js';
import { type Fault, type PlannedChange, type Schedule, tieOf } from './schedule.js';

/** How many rounds of promise jobs an attempt may need to get from one handle to the next before we look closer. */
const MAX_ROUNDS = 200;

/** How many things may happen at one moment. */
const MAX_AT_ONE_MOMENT = 10_000;

/** Rounds of promise jobs in which an attempt that awaits several handles at once gets on, or the engine hears of its end. */
const ROUNDS_AFTER_SETTLE = 5;

/** Who awaits it waits for one round of promise jobs. */
const ROUND = Promise.resolve();

/** What happened, for the report. */
export interface Recorder {
  log(at: number, text: string): void;
  step(step: Step, replica: number): void;
}

/**
 * One run of a scenario under one schedule. All that happens is due on one virtual scheduler and happens one after the
 * other; between two things, promise jobs run until every attempt awaits one of its handles. So there is no chance left.
 */
export class Simulation<W> implements SimulationEnvironment<W> {
  readonly scheduler = new VirtualScheduler();
  readonly random: Random;
  readonly world: W;
  readonly streams: readonly (readonly [string, SimulatedStream<W>])[];
  readonly settings: ReconcileSettings;
  readonly limit: number;
  busy = 0;
  staleAttempts = 0;
  readonly #bound: number;
  readonly #stay: number;
  readonly #operations = new Map<string, FaultPlan>();
  readonly #events = new Map<string, FaultPlan>();
  readonly #watches = new Map<string, SimulatedEventStream<W>[]>();
  readonly #replicas: Replica<W>[] = [];
  readonly #clone: <T>(value: T) => T;
  readonly #invariants: (readonly [string, (world: W, at: number) => boolean])[];
  #leader = 0;
  #processes = 0;
  /** Losses of leadership that last. */
  #leaderless = 0;
  /** What is read instead of the world. */
  #snapshot: W | undefined;
  #staleUntil = 0;
  /** Things that a fault has put off. */
  #postponed = 0;
  /** Rounds of promise jobs to come, at least. */
  #rounds = 0;
  /** What handles have failed by, for the report. */
  readonly #known = new Set<unknown>();
  #isCalm = false;
  #isDirty = true;
  #failure: ScenarioFailure | undefined;
  #scenarioFault: ScenarioError | undefined;

  constructor(
    readonly scenario: Scenario<W>,
    readonly schedule: Schedule,
    seed: number,
    readonly recorder?: Recorder,
  ) {
    const { streams, config, bound = 600_000, stay = 120_000, invariants = {} } = scenario;
    this.random = randomFrom(~seed);
    this.world = atOnce('`world`', scenario.world(this.random));
    const loopConfig = typeof config === 'function' ? atOnce('`config`', config(this.random, this.world)) : (config ?? {});
    const { delayResolution = 250 } = loopConfig;
    this.settings = reconcileSettings({
      backoff: exponential({ initial: delayResolution, random: this.random }),
      ...loopConfig,
      scheduler: this.scheduler,
    });
    const { maxReconcileTime } = this.settings;
    this.limit = maxReconcileTime === 0 ? Infinity : maxReconcileTime;
    this.streams = Object.entries(streams);
    this.#bound = bound;
    this.#stay = stay;
    this.#clone = scenario.clone ?? clone;
    this.#invariants = Object.entries(invariants);
    for (const [name, described] of this.streams) {
      const stream = new SimulatedEventStream(this, name, described);
      for (const cause of described.on ?? []) this.#watches.set(cause, [...(this.#watches.get(cause) ?? []), stream]);
    }
    for (const fault of schedule.faults) {
      const tie = tieOf(fault.kind);
      if (tie !== 'moment') faultPlanOf(fault.id, tie === 'operation' ? this.#operations : this.#events).faults.push(fault);
    }
  }

  /** Runs it all. Resolves with the first failure, if there is one. Rejects if the scenario itself is at fault. */
  async run(): Promise<ScenarioFailure | undefined> {
    try {
      this.startProcess(0);
      const { changes, faults } = this.schedule;
      new PlannedChanges(changes, this.scheduler, (change) => {
        this.#change(change);
      });
      for (const fault of faults)
        if (tieOf(fault.kind) === 'moment')
          this.scheduler.after(fault.at, () => {
            this.#inject(fault);
          });
      await this.#live(greatest([changes.at(-1)?.at ?? 0, ...faults.map(({ at }) => at)]));
    } finally {
      // What is at rest is garbage as it is, and to take it apart takes long.
      for (const replica of this.#replicas) if (replica.isBusy) replica.end();
    }
    if (this.#scenarioFault !== undefined) throw this.#scenarioFault;
    return this.#failure;
  }

  get elapsed(): number {
    return this.scheduler.elapsed;
  }

  get seen(): W {
    return this.#snapshot ?? this.world;
  }

  startProcess(index: number): void {
    this.#replicas[index] = new Replica(this, index, this.#processes++);
    this.#electLeader();
  }

  postponeTimer(ms: number, timer: Timer): void {
    this.postpone(ms, () => {
      timer.run();
    });
  }

  postpone(ms: number, happen: () => void): void {
    this.#postponed++;
    this.scheduler.after(ms, () => {
      this.#postponed--;
      happen();
    });
  }

  awaitJobs(deeply: boolean): void {
    this.#rounds = Math.max(this.#rounds, deeply ? ROUNDS_AFTER_SETTLE : 1);
  }

  copy<T>(value: T): T {
    return this.#clone(value);
  }

  operationFault(id: string): Fault | undefined {
    return this.#faultOf(this.#operations.get(id));
  }

  deliver(trigger: Trigger): void {
    for (const replica of this.#replicas) replica.deliver(trigger);
  }

  changed(name: string, id: string, message: unknown): void {
    this.#isDirty = true;
    for (const stream of this.#watches.get(name) ?? []) stream.emit(id, message, this.#faultOf(this.#events.get(id)));
    for (const [invariant, holds] of this.#invariants) {
      if (this.#ask(`the invariant "${invariant}"`, holds) === false) this.fail(`the invariant "${invariant}" broke`);
    }
  }

  stepped(step: Step, replica: number, process: number): void {
    if (this.recorder !== undefined) this.#record(this.recorder, step, replica);
    try {
      const answer: unknown = this.scenario.onStep?.(step, this.world, this.elapsed, process);
      if (isPromiseLike(answer)) this.scenarioFault(lateAnswer('`onStep`', answer));
    } catch (error) {
      this.fail(`\`onStep\` threw: ${describeError(error).message}`, error);
    }
  }

  log(text: string): void {
    this.recorder?.log(this.elapsed, text);
  }

  failedBy(error: unknown): void {
    if (this.recorder !== undefined) this.#known.add(error);
  }

  fail(what: string, error?: unknown): void {
    this.#failure ??= { what, at: this.elapsed, error };
  }

  scenarioFault(message: string): ScenarioError {
    this.#scenarioFault ??= new ScenarioError(message);
    return this.#scenarioFault;
  }

  async #live(end: number): Promise<void> {
    const { scheduler } = this;
    let limit = Infinity;
    let since: number | undefined;
    let atThisMoment = 0;
    while (this.#failure === undefined && this.#scenarioFault === undefined) {
      const { next } = scheduler;
      const isOver = (this.#postponed === 0 && this.staleAttempts === 0) || next > end + this.#bound;
      if (!this.#isCalm && next > end && isOver) {
        scheduler.passTo(end);
        this.#isCalm = true;
        limit = scheduler.elapsed + this.#bound;
      }
      if (this.#isCalm && this.#isDirty && next > scheduler.elapsed) {
        this.#isDirty = false;
        const isConverged = this.#ask('`converged`', this.scenario.converged) === true;
        if (isConverged && since === undefined) limit = (since = scheduler.elapsed) + this.#stay;
        if (!isConverged && since !== undefined) this.fail('the world converged, and did not stay so');
      }
      if (next > limit) {
        if (since === undefined) this.fail(`the world did not converge within ${String(this.#bound)} ms after the last fault`);
        return;
      }
      atThisMoment = next > scheduler.elapsed ? 0 : atThisMoment + 1;
      if (atThisMoment > MAX_AT_ONE_MOMENT) this.fail('time stood still: one thing caused the next at the same moment, without end');
      scheduler.runNext();
      // Promise jobs run until every attempt awaits a handle or is over, and the engine has heard of it.
      for (let rounds = 0; this.#rounds > 0 || this.busy > 0; rounds++) {
        this.#rounds--;
        await ROUND;
        if (rounds >= MAX_ROUNDS) await this.#checkStuck();
      }
      this.#rounds = 0;
    }
  }

  async #checkStuck(): Promise<void> {
    await settle();
    if (this.busy <= 0) return;
    throw new ScenarioError(
      'A reconciler awaits something that is neither `read`, `effect` nor `sleep`: a simulation has no real world to wait for, and every effect needs its handle',
    );
  }

  /** What an attempt fails by is told as well, unless it was given that by a handle, of which the fault or the log tells. */
  #record(recorder: Recorder, step: Step, replica: number): void {
    recorder.step({ ...step, at: this.elapsed }, replica);
    if (step.kind !== 'requeued' && step.kind !== 'dropped') return;
    const { id, failure, error } = step;
    const isNews = failure !== undefined && failure !== 'timeout' && failure !== 'superseded' && !this.#known.has(error);
    if (isNews) this.log(`${id}: the reconciler fails: ${describeError(error).message}`);
  }

  #change({ id, name, value }: PlannedChange): void {
    const changes: Readonly<Record<string, Change<W> | undefined>> = this.scenario.changes;
    const change = changes[name];
    if (change === undefined) throw new ScenarioError(`Expected the scenario to have the change \`${name}\` of the schedule`);
    this.log(`${id}: ${name} (from outside)`);
    const answer = typeof change === 'function' ? change(this.world, id, randomFrom(value as number)) : change.apply(this.world, id, value);
    this.changed(name, id, atOnce(`the change \`${name}\``, answer));
  }

  /** What `holds` says of the world; undefined if it has gone wrong. */
  #ask(name: string, holds: (world: W, at: number) => boolean): boolean | undefined {
    let answer: unknown;
    try {
      answer = holds(this.world, this.elapsed);
    } catch (error) {
      this.fail(`${name} threw: ${describeError(error).message}`, error);
      return undefined;
    }
    if (typeof answer === 'boolean') return answer;
    this.scenarioFault(isPromiseLike(answer) ? lateAnswer(name, answer) : `Expected ${name} to answer true or false, got ${shown(answer)}`);
    return undefined;
  }

  #inject({ kind, ms, id }: Fault): void {
    if (kind === 'pause' || kind === 'pauseLoop') this.#pause(kind === 'pause' ? { id } : {}, ms);
    else if (kind === 'discard') this.#command({ kind, id });
    else if (kind === 'force') this.deliver({ id, stream: 'operator', force: true });
    else if (kind === 'clock') this.scheduler.stepClock(ms);
    else if (kind === 'stale') this.#freezeReads(ms);
    else if (kind === 'leadership') this.#loseLeadership(ms);
    else this.#handOver(ms);
  }

  #pause(what: { readonly id?: string }, ms: number): void {
    this.#command({ kind: 'pause', ...what });
    this.postpone(ms, () => {
      this.#command({ kind: 'resume', ...what });
    });
  }

  #command(command: Command): void {
    for (const replica of this.#replicas) replica.command(command);
  }

  #freezeReads(ms: number): void {
    this.#snapshot ??= this.#clone(this.world);
    this.#staleUntil = Math.max(this.#staleUntil, this.elapsed + ms);
    this.postpone(ms, () => {
      if (this.elapsed >= this.#staleUntil) this.#snapshot = undefined;
    });
  }

  #loseLeadership(ms: number): void {
    this.#leaderless++;
    for (const replica of this.#replicas) replica.stepDown();
    this.postpone(ms, () => {
      this.#leaderless--;
      this.#electLeader();
    });
  }

  #handOver(overlap: number): void {
    const before = this.#leader;
    this.#leader = 1 - before;
    if (this.#replicas[this.#leader] === undefined) this.startProcess(this.#leader);
    else this.#electLeader();
    this.postpone(overlap, () => {
      if (this.#leader !== before) this.#replicas[before]?.stepDown();
    });
  }

  #electLeader(): void {
    if (this.#leaderless === 0) this.#replicas[this.#leader]?.lead();
  }

  #faultOf(plan: FaultPlan | undefined): Fault | undefined {
    if (plan === undefined) return undefined;
    const count = ++plan.count;
    return this.#isCalm ? undefined : plan.faults.find(({ nth }) => nth === count);
  }
}

/** What the operations of an id, or its events, go through. */
interface FaultPlan {
  /** How many there were. */
  count: number;
  readonly faults: Fault[];
}

function faultPlanOf(id: string, plans: Map<string, FaultPlan>): FaultPlan {
  let plan = plans.get(id);
  if (plan === undefined) plans.set(id, (plan = { count: 0, faults: [] }));
  return plan;
}
