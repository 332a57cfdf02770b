import { integer, oneOf, randomFrom, span } from './random.js';
import type { FaultKind, OperatorKind, Random, Scenario } from './scenario.js';

/** All kinds of faults. */
export const FAULTS = [
  'crash',
  'fail',
  'lost',
  'slow',
  'overtime',
  'drop',
  'duplicate',
  'delay',
  'reorder',
  'stale',
  'leadership',
  'handover',
  'clock',
] as const satisfies readonly FaultKind[];

/** All that an operator may do. */
export const OPERATOR = ['pause', 'pauseLoop', 'discard', 'force'] as const satisfies readonly OperatorKind[];

/** A change of the world and its moment. */
export interface PlannedChange {
  readonly at: number;
  readonly id: string;
  readonly name: string;
  /** What it draws its values from, or its value. */
  readonly value: unknown;
  /** Simpler values, where fast-check knows any. */
  readonly simpler?: (() => Iterable<Pick<PlannedChange, 'value' | 'simpler'>>) | undefined;
}

/** Something that goes wrong, or that an operator does. Which of the last three fields counts depends on the kind. */
export interface Fault {
  readonly kind: FaultKind | OperatorKind;
  /** Whose operation, or whose event, it hits. */
  readonly id: string;
  /** Which occurrence of it, counted from 1 over all processes. */
  readonly nth: number;
  /** When it happens, in ms, if it is not tied to an operation or an event. */
  readonly at: number;
  /** How long it takes, in ms; how far a clock is set. */
  readonly ms: number;
}

/** All that happens to a simulated world from outside. */
export interface Schedule {
  readonly changes: readonly PlannedChange[];
  readonly faults: readonly Fault[];
}

/** The same, its changes in the order of their moments, as a simulation takes them. */
export function byMoment({ changes, faults }: Schedule): Schedule {
  return { changes: [...changes].sort((a, b) => a.at - b.at), faults };
}

/** Where a fault is tied to: an operation of its id, an event of its id, or a moment. */
export function tieOf(kind: Fault['kind']): 'operation' | 'event' | 'moment' {
  switch (kind) {
    case 'crash':
    case 'fail':
    case 'lost':
    case 'slow':
    case 'overtime':
      return 'operation';
    case 'drop':
    case 'duplicate':
    case 'delay':
    case 'reorder':
      return 'event';
    default:
      return 'moment';
  }
}

/** How much a schedule may hold. */
export interface Size {
  readonly events: number;
  readonly faults: number;
}

/** Draws a value for a change from one of fast-check's arbitraries. */
export type Draw = (random: Random, change: string) => Pick<PlannedChange, 'value' | 'simpler'>;

/** The schedule that belongs to `seed`. */
export function planned<W>(
  { ids = DEFAULT_IDS, changes, operator = [] }: Scenario<W>,
  kinds: readonly FaultKind[],
  size: Size,
  seed: number,
  draw: Draw,
): Schedule {
  const random = randomFrom(seed);
  const names = Object.keys(changes);
  const changesAhead: PlannedChange[] = [];
  let at = 0;
  for (let left = integer(random, 1, size.events); left > 0; left--) {
    at += random() < 0.3 ? 0 : span(random, 20_000);
    const name = oneOf(random, names);
    const id = oneOf(random, ids);
    const { value, simpler } = draw(random, name);
    changesAhead.push(simpler === undefined ? { at, id, name, value } : { at, id, name, value, simpler });
  }
  // A run with fewer kinds of faults goes deeper with each than one that has a bit of everything.
  const some = kinds.filter(() => random() < 0.4);
  const swarm = some.length > 0 ? some : kinds;
  const faults: Fault[] = [];
  if (swarm.length > 0) {
    for (let left = integer(random, 0, size.faults); left > 0; left--)
      faults.push(fault(random, oneOf(random, swarm), oneOf(random, ids), at));
  }
  // By a chance of its own: the same seed makes the same changes and faults, with and without an operator.
  if (operator.length > 0) {
    const ofOperator = randomFrom(seed ^ 0x5bd1e995);
    for (let left = integer(ofOperator, 0, size.faults); left > 0; left--)
      faults.push(fault(ofOperator, oneOf(ofOperator, operator), oneOf(ofOperator, ids), at));
  }
  return { changes: changesAhead, faults };
}

const DEFAULT_IDS = ['a', 'b', 'c'];

function fault(random: Random, kind: Fault['kind'], id: string, end: number): Fault {
  const tie = tieOf(kind);
  // Slow is not over time: that is a fault of its own, and three slow operations are within the default.
  const ms = span(random, kind === 'slow' ? 3000 : 60_000);
  return {
    kind,
    id,
    nth: tie === 'moment' ? 0 : 1 + Math.floor(random() ** 2 * (tie === 'operation' ? 20 : 8)),
    at: tie === 'moment' ? integer(random, 0, end) : 0,
    ms: kind === 'clock' ? (random() < 0.5 ? -1 : 1) * span(random, 1e8) : ms,
  };
}
