export { journal } from './journal.js';
export { type Marbles, marbles, type StepsAssertion } from './marbles.js';
export { type Replay, replay, type ReplayConfig } from './replay.js';
export { simulate, type SimulateConfig, type SimulateReport } from './simulate.js';
export { type ScenarioFailure, ScenarioError } from './simulation/failure.js';
export { SimulationError } from './simulation/report.js';
export type {
  ArbitraryLike,
  Change,
  FaultKind,
  OperatorKind,
  Random,
  Scenario,
  SimulatedLoopConfig,
  SimulatedProcess,
  SimulatedStream,
  SimulationContext,
} from './simulation/scenario.js';
export { type Fault, FAULTS, type PlannedChange, type Schedule } from './simulation/schedule.js';
export { type StepRows } from './steps-expectation.js';
export { toMarbles } from './to-marbles.js';
export { VirtualScheduler } from './virtual-scheduler.js';
export { type VirtualClock, virtualTime } from './virtual-time.js';
