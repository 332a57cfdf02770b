import type { ReconcileSettings } from '../../../operators/config.js';
import type { Step, Trigger } from '../../../operators/types.js';
import type { Timer, VirtualScheduler } from '../virtual-scheduler.js';
import type { ScenarioError } from './failure.js';
import type { Random, Scenario, SimulatedStream } from './scenario.js';
import type { Fault } from './schedule.js';

/** What processes, streams and operations see of the simulation in which they are. */
export interface SimulationEnvironment<W> {
  readonly scenario: Scenario<W>;
  readonly scheduler: VirtualScheduler;
  readonly random: Random;
  readonly streams: readonly (readonly [string, SimulatedStream<W>])[];
  readonly settings: ReconcileSettings;
  /** How long an attempt may take, in ms. */
  readonly limit: number;
  readonly world: W;
  /** The world as it is read, which may be old. */
  readonly seen: W;
  /** How much time has passed, in ms. */
  readonly elapsed: number;
  /** How many attempts neither await a handle nor are over. */
  busy: number;
  /** Attempts that go on though their term has ended: what they do is still the fault's doing. */
  staleAttempts: number;

  /** A process starts, and leads if it is its turn. */
  startProcess(index: number): void;
  /** Something that a fault puts off by `ms`; the world is not calm before it has happened. */
  postpone(ms: number, happen: () => void): void;
  /** The same for a timer. */
  postponeTimer(ms: number, timer: Timer): void;
  /** An attempt was given an answer, or has given its own: promise jobs must run. */
  awaitJobs(deeply: boolean): void;
  /** A copy of what was read. */
  copy<T>(value: T): T;
  /** The fault that hits the next operation of `id`. */
  operationFault(id: string): Fault | undefined;
  deliver(trigger: Trigger): void;
  /** The world was changed, by the change or effect `name`: whoever watches hears of it, and the invariants are looked at. */
  changed(name: string, id: string, message: unknown): void;
  stepped(step: Step, replica: number, process: number): void;
  log(text: string): void;
  /** An attempt is given this error by a handle. */
  failedBy(error: unknown): void;
  fail(what: string, error?: unknown): void;
  /** The scenario does what no schedule can excuse. */
  scenarioFault(message: string): ScenarioError;
}

/** A process, as its attempts see it. */
export interface Host {
  readonly isAlive: boolean;
  crash(downtime: number): void;
}

/** An attempt, as its operations see it. */
export interface Caller<W> {
  readonly id: string;
  readonly environment: SimulationEnvironment<W>;
  readonly host: Host;
  /** It gets its answer, if its process is there to hear it. */
  unpark(): boolean;
}
