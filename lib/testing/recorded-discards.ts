import type { Step } from '../../operators/types.js';

/** That an id was discarded, and how many steps there were before. */
export interface RecordedDiscard {
  readonly id: string;
  readonly at: number;
  readonly index: number;
}

/** What is known of an id. */
interface Known {
  /** The beginning of its run, and the events that have marked that since. */
  run: number[];
  isRunning: boolean;
  /** When it ended. */
  end: number;
  /** When the rest after its last run ends. */
  restUntil: number;
}

/**
 * When ids were discarded. Of work that was ready or waited the steps say so. One that ran shows it by how it ended and what became of its
 * mark; and one that only rested by an event that need not wait: so does a reset that had nothing else to end, which comes to the same.
 */
export function discardsOf(steps: readonly Step[], cooldown: number, resolution: number): RecordedDiscard[] {
  const ids = new Map<string, Known>();
  const found: RecordedDiscard[] = [];
  const discarded = (id: string, index: number, at = (steps[index] as Step).at): void => {
    found.push({ id, index, at });
  };
  steps.forEach((step, index) => {
    const { id, kind, at, trigger } = step;
    let known = ids.get(id);
    if (known === undefined) ids.set(id, (known = { run: [], isRunning: false, end: 0, restUntil: -Infinity }));
    if (kind === 'dropped') known.restUntil = -Infinity;
    if (kind === 'started') {
      Object.assign(known, { run: [index], isRunning: true });
    } else if (kind === 'merged') {
      if (known.isRunning) known.run.push(index);
    } else if (kind === 'enqueued') {
      if (trigger !== undefined && trigger.force !== true && at < known.restUntil) discarded(id, ...whereRestEnded(steps, known, index));
      known.restUntil = -Infinity;
    } else if (known.isRunning && (kind === 'succeeded' || kind === 'requeued' || kind === 'dropped')) {
      known.isRunning = false;
      known.end = index;
      const isWell = kind === 'succeeded' || (kind === 'requeued' && step.failure === undefined);
      if (isWell && cooldown > 0) known.restUntil = Math.ceil((at + cooldown) / resolution) * resolution;
      const where = whereDiscarded(steps, index, known.run, isWell && cooldown > 0);
      if (where !== undefined) discarded(id, ...where);
    } else if (isDiscarded(step) && !isAnswerOfRun(steps, index)) {
      discarded(id, isMarkDropped(steps, index) ? index - 1 : index);
    }
  });
  return found.sort((a, b) => a.index - b.index);
}

/** A mark that was discarded: it was enqueued, and at once dropped. */
export function isMarkDropped(steps: readonly Step[], index: number): boolean {
  const [mark, drop] = [steps[index - 1], steps[index]];
  if (drop?.kind !== 'dropped' || mark?.kind !== 'enqueued') return false;
  return mark.trigger === undefined && mark.id === drop.id && mark.at === drop.at;
}

/** A mark of the run that has just ended, which nobody serves. */
export function isAnswerOfRun(steps: readonly Step[], index: number): boolean {
  const [end, drop] = [steps[index - 2], steps[index]];
  if (end === undefined || !isMarkDropped(steps, index) || end.id !== drop?.id || end.at !== drop.at) return false;
  return end.kind === 'succeeded' || (end.kind === 'dropped' && end.took !== undefined && isGivenUp(end.reason));
}

/** Before which step, and when, the run was discarded that ended at `end`; `undefined` if it was not. */
function whereDiscarded(steps: readonly Step[], end: number, run: readonly number[], rests: boolean): [number, number?] | undefined {
  const merged = run.slice(1);
  const { id, kind, at } = steps[end] as Step;
  const isAnswered = isDiscarded(steps[end + 2]) && isAnswerOfRun(steps, end + 2);
  const isForced = merged.some((index) => steps[index]?.trigger?.force === true);
  const next = steps[end + 1];
  const isMarkServed =
    !isMarkDropped(steps, end + 2) && next?.kind === 'enqueued' && next.id === id && next.trigger === undefined && next.at === at;
  const isServedAtOnce = kind === 'succeeded' && rests && !isForced && !isAnswered && isMarkServed;
  if (!isDiscarded(steps[end]) && !isAnswered && !isServedAtOnce) return undefined;
  const later = steps.slice(end + (isAnswered ? 3 : 1)).find((step) => step.id === id && step.kind !== 'merged');
  const isServed = merged.length > (isAnswered ? 1 : 0) && later?.kind === 'enqueued' && later.trigger === undefined;
  if (!isServed) return [end];
  // What came after it stands.
  const before = isAnswered ? merged.length : 1;
  return between(steps, run[before - 1] as number, run[before] as number);
}

/** Before which step, and when, a rest was over too soon for the event of step `last`: after the run, or already during it. */
function whereRestEnded(steps: readonly Step[], { run, end }: Known, last: number): [number, number?] {
  const after = between(steps, end, last);
  return after.length === 1 && run.length === 1 ? between(steps, run[0] as number, end) : after;
}

/** Some time after step `first` and before step `last`: not in the midst of what `last` belongs to, if that can be told. */
function between(steps: readonly Step[], first: number, last: number): [number, number?] {
  const { at } = steps[first] as Step;
  let index = first + 1;
  while (index < last && steps[index]?.at === at) index++;
  return steps[index]?.at === at ? [last] : [index, at];
}

function isGivenUp(reason: string): boolean {
  return reason === 'discarded' || reason === 'stopped' || reason === 'moved';
}

function isDiscarded(step: Step | undefined): boolean {
  return step?.kind === 'dropped' && step.reason === 'discarded';
}
