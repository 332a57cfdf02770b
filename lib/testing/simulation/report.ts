import type { Step } from '../../../operators/types.js';
import { toMarbles } from '../to-marbles.js';
import type { ScenarioFailure } from './failure.js';
import { type Fault, type PlannedChange, type Schedule, tieOf } from './schedule.js';

/** Lines of the log that a report shows at most: the end is what matters. */
const LONGEST_LOG = 60;

/** What happened in the smallest run that fails. */
export interface Account {
  readonly seed: number;
  readonly runs: number;
  readonly failure: ScenarioFailure;
  /** The schedule as it was found. */
  readonly found: Schedule;
  /** The smallest that shows the same. */
  readonly smallest: Schedule;
  readonly log: readonly string[];
  /** The steps of each replica. */
  readonly steps: readonly (readonly Step[])[];
}

/** Thrown by {@link simulate}: a schedule under which the reconciler does wrong, and all that happened. */
export class SimulationError extends Error {
  override readonly name = 'SimulationError';
  /** `simulate(scenario, { seed })` shows this again. */
  readonly seed: number;
  /** What went wrong. */
  readonly failure: ScenarioFailure;
  /** The smallest schedule that shows it: `simulate(scenario, { schedule })` runs just that. */
  readonly schedule: Schedule;
  /** What happened to the world. */
  readonly log: readonly string[];
  /** The steps as marbles. */
  readonly diagram: string;

  constructor(account: Account) {
    const { seed, failure, smallest, log } = account;
    const diagram = diagramOf(account.steps);
    super(messageOf(account, diagram), { cause: failure.error });
    this.seed = seed;
    this.failure = failure;
    this.schedule = smallest;
    this.log = log;
    this.diagram = diagram;
  }
}

function messageOf({ seed, runs, failure, found, smallest, log }: Account, diagram: string): string {
  const size = sizeOf(smallest);
  return [
    `${capital(failure.what)}, at ${String(failure.at)} ms (run ${String(runs)}).`,
    `To see it again: simulate(scenario, { seed: ${String(seed)} }), with the same size and faults if you gave any.`,
    '',
    `The smallest schedule that shows it (${String(size)} of ${String(sizeOf(found))} things${smallest.faults.length === 0 ? ', none of them a fault' : ''}):`,
    ...smallest.changes.map((change) => `  ${describedChange(change)}`),
    ...smallest.faults.map((fault) => `  ${describedFault(fault)}`),
    '',
    'What happened:',
    ...(log.length > LONGEST_LOG ? [`  ... ${String(log.length - LONGEST_LOG)} lines more`] : []),
    ...log.slice(-LONGEST_LOG).map((line) => `  ${line}`),
    '',
    diagram,
  ].join('\n');
}

function sizeOf({ changes, faults }: Schedule): number {
  return changes.length + faults.length;
}

function diagramOf(steps: readonly (readonly Step[])[]): string {
  if (steps.length === 1) return toMarbles(steps[0] as readonly Step[]);
  return steps.map((ofReplica, i) => `replica ${String(i)}\n${toMarbles(ofReplica)}`).join('\n');
}

function describedChange({ at, id, name, value, simpler }: PlannedChange): string {
  return `at ${String(at)} ms, ${id}: ${name}${simpler === undefined ? '' : ` ${JSON.stringify(value)}`}`;
}

function describedFault({ kind, id, nth, at, ms }: Fault): string {
  const span = `${String(ms)} ms`;
  const when = { operation: `${id}, operation ${String(nth)}`, event: `${id}, event ${String(nth)}`, moment: `at ${String(at)} ms` }[
    tieOf(kind)
  ];
  return `${when}: ${what(kind, span, id)}`;
}

function what(kind: Fault['kind'], span: string, id: string): string {
  switch (kind) {
    case 'crash':
      return `the process crashes instead, and is back after ${span}`;
    case 'fail':
      return 'it fails';
    case 'lost':
      return 'it happens, but its answer is lost';
    case 'slow':
      return `it happens ${span} late`;
    case 'overtime':
      return `its answer comes ${span} over time`;
    case 'drop':
      return 'it is lost';
    case 'duplicate':
      return `it comes again after ${span}`;
    case 'delay':
      return `it comes ${span} late, and so do those behind it`;
    case 'reorder':
      return 'it is overtaken by the next one';
    case 'stale':
      return `for ${span} reads are as of now`;
    case 'leadership':
      return `leadership is lost for ${span}`;
    case 'handover':
      return `another replica leads, and the old one notices after ${span}`;
    case 'clock':
      return `the wall clock is set by ${span}`;
    case 'pause':
      return `\`${id}\` is paused for ${span}`;
    case 'pauseLoop':
      return `the loop is paused for ${span}`;
    case 'discard':
      return `\`${id}\` is discarded`;
    case 'force':
      return `\`${id}\` is forced to run`;
  }
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
