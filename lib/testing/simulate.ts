import { check, checkFunction } from '../../operators/check.js';
import type { Step } from '../../operators/types.js';
import { describeError } from '../describe-error.js';
import { drawFor } from './simulation/draw.js';
import { type ScenarioFailure, ScenarioError } from './simulation/failure.js';
import { SimulationError } from './simulation/report.js';
import type { FaultKind, Scenario } from './simulation/scenario.js';
import { FAULTS, OPERATOR, byMoment, planned, type Schedule } from './simulation/schedule.js';
import { shrunk } from './simulation/shrink.js';
import { type Recorder, Simulation } from './simulation/simulation.js';

/** How {@link simulate} searches. */
export interface SimulateConfig {
  /** The first run's seed, and by default the only one: a report names it. Default 1: a test must do the same each time. */
  readonly seed?: number | undefined;
  /** How many runs, each with the next seed. Default 1000, or 1 if a seed or a schedule is given. */
  readonly runs?: number | undefined;
  /** How many changes a run has at most. Default 12: a bug that needs more is rare, and longer runs find fewer a second. */
  readonly events?: number | undefined;
  /** How many faults a run has at most, and how many deeds of an operator. Default 6 each, for the same reason. */
  readonly faults?: number | undefined;
  /** Which kinds of faults, of those that the scenario allows. Default: all of these. */
  readonly kinds?: readonly FaultKind[] | undefined;
  /** Runs this schedule instead of generated ones: a bug that was found becomes a test. */
  readonly schedule?: Schedule | undefined;
}

/** What {@link simulate} has done. */
export interface SimulateReport {
  /** How many runs there were. */
  readonly runs: number;
  /** How many changes and faults there were in them; what an operator did counts as a fault. */
  readonly changes: number;
  readonly faults: number;
}

/**
 * Runs the reconciler of `scenario` in worlds where everything goes wrong that can, and resolves if it did right in all of
 * them. Each run generates from its seed what changes and when, which faults happen in between, and what an
 * operator does if the scenario has an `operator`. Then all that stops, and within a bound of virtual time the world must converge, and stay so; the invariants must hold throughout, and no
 * process may run one id twice at once.
 *
 * It is deterministic: the same seed does the same each time, without real time and without I/O.
 *
 * @throws SimulationError (as a rejection) if a run fails: it says the seed, the smallest schedule that shows it, what
 *   happened to the world, and the steps as marbles
 * @throws ScenarioError (as a rejection) if the scenario itself is at fault: it never converges even if it is left alone,
 *   calls a handle outside of an attempt, awaits the real world, or is not deterministic
 * @throws TypeError (as a rejection) if a field is out of its range
 * @example
 * it('should keep one machine an id', () => simulate(machines, { runs: 10_000 }));
 */
export async function simulate<W, V extends object>(given: Scenario<W, V>, config: SimulateConfig = {}): Promise<SimulateReport> {
  // What the values are is of no concern from here on.
  const scenario = given as Scenario<W>;
  const { seed = 1, events = 12, faults = 6, schedule } = config;
  const { runs = config.seed === undefined && schedule === undefined ? 1000 : 1 } = config;
  checkScenario(scenario, config);
  check('seed', seed, 'a safe integer', Number.isSafeInteger(seed));
  check('runs', runs, 'an integer >= 1', Number.isInteger(runs) && runs >= 1);
  check('events', events, 'an integer >= 1', Number.isInteger(events) && events >= 1);
  check('faults', faults, 'an integer >= 0', Number.isInteger(faults) && faults >= 0);
  const { faults: allowed = FAULTS } = scenario;
  const kinds = allowed.filter((kind) => config.kinds?.includes(kind) ?? true);
  const draw = await drawFor(scenario);
  await checkQuiet(scenario, seed);
  const report = { runs: 0, changes: 0, faults: 0 };
  while (report.runs < runs) {
    const runSeed = seed + report.runs;
    const found = schedule === undefined ? planned(scenario, kinds, { events, faults }, runSeed, draw) : byMoment(schedule);
    report.runs++;
    report.changes += found.changes.length;
    report.faults += found.faults.length;
    const failure = await run(scenario, found, runSeed);
    if (failure !== undefined) throw await explained(scenario, found, runSeed, failure, report.runs);
  }
  return report;
}

async function run<W>(scenario: Scenario<W>, schedule: Schedule, seed: number, recorder?: Recorder): Promise<ScenarioFailure | undefined> {
  try {
    return await new Simulation(scenario, schedule, seed, recorder).run();
  } catch (error) {
    if (error instanceof ScenarioError) throw error;
    throw new ScenarioError(`A function of the scenario threw, with seed ${String(seed)}: ${describeError(error).message}`, {
      cause: error,
    });
  }
}

/** Finds the smallest schedule that fails in the same way, and runs it once more to see what happens. */
async function explained<W>(scenario: Scenario<W>, found: Schedule, seed: number, failure: ScenarioFailure, runs: number): Promise<Error> {
  const smallest = await shrunk(found, async (schedule) => (await run(scenario, schedule, seed))?.what === failure.what);
  const log: string[] = [];
  const steps: Step[][] = [];
  const recorder = {
    log: (at: number, text: string) => log.push(`${String(at)} ms  ${text}`),
    step: (step: Step, replica: number) => (steps[replica] ??= []).push(step),
  };
  const again = await run(scenario, smallest, seed, recorder);
  if (again?.what !== failure.what) {
    return new ScenarioError(
      `The scenario is not deterministic: with seed ${String(seed)} ${failure.what}, and the next time it did not. Look for random numbers, clocks, and memory outside of the reconciler's function`,
    );
  }
  return new SimulationError({ seed, runs, failure: again, found, smallest, log, steps });
}

async function checkQuiet<W>(scenario: Scenario<W>, seed: number): Promise<void> {
  const failure = await run(scenario, { changes: [], faults: [] }, seed);
  if (failure === undefined) return;
  throw new ScenarioError(
    `Expected the scenario to converge if it is left alone, but without a change and without a fault ${failure.what}: look at \`world\`, \`converged\`, and whether a stream lists what is not right from the start`,
    { cause: failure.error },
  );
}

function checkScenario<W>(scenario: Scenario<W>, { kinds = [] }: SimulateConfig): void {
  const isRecord = (value: unknown): boolean => typeof value === 'object' && value !== null;
  check('scenario', scenario, 'an object', isRecord(scenario));
  const { ids = ['a'], world, changes, streams, reconciler, converged, invariants = {}, faults = [], operator = [] } = scenario;
  check('ids', ids, 'a list of at least one id', Array.isArray(ids) && ids.length > 0);
  checkFunction('world', world);
  checkFunction('reconciler', reconciler);
  checkFunction('converged', converged);
  check('changes', changes, 'an object with at least one change', isRecord(changes) && Object.keys(changes).length > 0);
  for (const [name, change] of Object.entries(changes)) {
    const { values, apply } = Object(change) as { values?: { generate?: unknown }; apply?: unknown };
    const isDrawn = typeof values?.generate === 'function' && typeof apply === 'function';
    check(
      `changes.${name}`,
      change,
      'a function, or `{ values, apply }` with an arbitrary of fast-check and a function',
      typeof change === 'function' || isDrawn,
    );
  }
  check('streams', streams, 'an object', isRecord(streams));
  check('invariants', invariants, 'an object', isRecord(invariants));
  for (const [name, holds] of Object.entries(invariants)) checkFunction(`invariants.${name}`, holds);
  for (const [name, { on, every, list, priority, force }] of Object.entries(streams)) {
    check(`streams.${name}.on`, on, 'a list of names of changes and effects', on === undefined || Array.isArray(on));
    check(`streams.${name}.priority`, priority, 'a number', priority === undefined || typeof priority === 'number');
    check(`streams.${name}.force`, force, 'true or false', force === undefined || typeof force === 'boolean');
    check(`streams.${name}.every`, every, 'a number of ms > 0', every === undefined || every > 0);
    check(`streams.${name}.list`, list, 'a function, for the stream has `every`', every === undefined || typeof list === 'function');
  }
  for (const kind of operator) check('operator', kind, `one of ${OPERATOR.join(', ')}`, OPERATOR.includes(kind));
  for (const kind of [...faults, ...kinds]) check('faults', kind, `one of ${FAULTS.join(', ')}`, FAULTS.includes(kind));
}
