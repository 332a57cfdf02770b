import type { Command } from '../../operators/command.js';
import type { Step, StepOf, Trigger } from '../../operators/types.js';
import { discardsOf, isAnswerOfRun } from './recorded-discards.js';
import { isMoved, type RecordedTerm, RecordedTerms } from './recorded-terms.js';
import { RecordedRun } from './recorded-run.js';

/** What the world did to the loop, and how many steps there were before. */
export type Input = { readonly at: number; readonly index: number } & (
  | { readonly event: Trigger }
  | { readonly run: RecordedRun }
  | { readonly cut: 'reset' | 'stop' }
  | { readonly command: unknown }
  | { readonly term: RecordedTerm }
);

/** What the steps of a loop say about the world around it. */
export interface Recording {
  /** By id, in the order in which they started. */
  readonly runs: ReadonlyMap<string, readonly RecordedRun[]>;
  /** In the order in which they happened. */
  readonly inputs: readonly Input[];
  /** Whether each worker has terms of its own: it is a shard. */
  readonly hasTerms: boolean;
}

/**
 * For each step whether timers that are due at its moment fire only after it: time causes a step there or later, or a run
 * ends just in time.
 *
 * @param limit - how long a run may take, in ms
 */
export function beforeTimers(steps: readonly Step[], limit: number): boolean[] {
  const before: boolean[] = [];
  for (let i = steps.length - 1; i >= 0; i--) {
    const { at, took = 0 } = steps[i] as Step & { readonly took?: number };
    before[i] = took >= limit || isCausedByTime(steps, i) || (steps[i + 1]?.at === at && before[i + 1] === true);
  }
  return before;
}

/** A run over time; or an id that became ready neither by an event nor by the end of a run. */
function isCausedByTime(steps: readonly Step[], index: number): boolean {
  const step = steps[index] as Step;
  if ('failure' in step && step.failure === 'timeout') return true;
  if (step.kind !== 'enqueued' || step.trigger !== undefined) return false;
  const previous = steps[index - 1];
  return previous?.id !== step.id || !['succeeded', 'dropped', 'released', 'resumed'].includes(previous.kind);
}

/** What of the configuration of a loop its recording cannot do without; times are in ms. */
export interface RecordedSettings {
  readonly shutdownGrace: number;
  readonly cooldown: number;
  readonly delayResolution: number;
  readonly workerCount: number;
}

/** Reads from the steps of a loop what the world did to it. */
export function recordingOf(
  steps: readonly Step[],
  { shutdownGrace, cooldown, delayResolution, workerCount }: RecordedSettings,
): Recording {
  const terms = new RecordedTerms(steps, workerCount);
  const discards = discardsOf(steps, cooldown, delayResolution);
  const runs = new Map<string, RecordedRun[]>();
  const running = new Map<string, RecordedRun>();
  const inputs: Input[] = [];
  let lastAlive = steps.length - 1;
  while (lastAlive >= 0 && !isAlive(steps, lastAlive)) lastAlive--;
  let cutUntil = -1;
  let stoppedAt: number | undefined;
  steps.forEach((step, index) => {
    const { id, at, kind, trigger } = step;
    for (; discards[0]?.index === index; discards.shift()) inputs.push({ at, index, command: { kind: 'discard', id: discards[0].id } });
    for (const term of terms.before(index)) inputs.push({ at, index, term });
    if (trigger !== undefined) inputs.push({ at, index, event: trigger });
    if (stoppedAt === undefined && lastAlive < index && leavesMark(steps, index)) {
      inputs.push({ at, index, cut: 'stop' });
      stoppedAt = at;
    }
    if (isStoppedDrop(step) && index > cutUntil) {
      if (step.failure === undefined) {
        cutUntil = lastOfCut(steps, index);
        const isStop = stoppedAt === undefined && lastAlive <= cutUntil && !couldBeReset(running, steps, index, cutUntil);
        // At the end of its grace the loop gives up by itself.
        if (isStop) inputs.push({ at, index, cut: 'stop' });
        else if (stoppedAt === undefined || (at !== stoppedAt + shutdownGrace && !isAnswerOfRun(steps, index)))
          for (const end of ends(steps, index, cutUntil, terms)) inputs.push(end);
        if (isStop) stoppedAt = at;
      } else if (stoppedAt === undefined) {
        // A run failed during a stop that no step shows: it was before, and that it was just before makes no difference.
        inputs.push({ at, index, cut: 'stop' });
        stoppedAt = at;
      }
    }
    const command = commandOf(steps, index);
    if (command !== undefined) inputs.push({ at, index, command });
    const run = running.get(id);
    if (kind === 'started') {
      const started = new RecordedRun();
      running.set(id, started);
      const ofId = runs.get(id);
      if (ofId === undefined) runs.set(id, [started]);
      else ofId.push(started);
    } else if (run === undefined) {
      return;
    } else if (kind === 'abandoned') {
      run.wasAbandoned = true;
    } else if (kind === 'released') {
      inputs.push({ at, index, run });
    } else if ((kind === 'succeeded' || kind === 'requeued' || kind === 'dropped') && run.outcome === undefined) {
      run.outcome = step;
      // A run that is over time, or cut off, is ended by the loop itself.
      const isCut = kind === 'dropped' && (step.reason === 'stopped' || isMoved(step)) && step.failure === undefined;
      if (!isCut && (kind === 'succeeded' || step.failure !== 'timeout')) inputs.push({ at, index, run });
    }
  });
  return { runs, inputs, hasTerms: terms.areThere };
}

/** The end of a term: of the whole loop, or of each worker that is concerned if these have terms of their own. */
function ends(steps: readonly Step[], index: number, last: number, terms: RecordedTerms): Input[] {
  const { at } = steps[index] as Step;
  if (!terms.areThere) return [{ at, index, cut: 'reset' }];
  const workers = new Set(steps.slice(index, last + 1).map(({ worker }) => worker));
  return [...workers].map((worker) => ({ at, index, term: terms.lost(worker) }));
}

/** The command that the step shows, if it is none to discard an id. */
function commandOf(steps: readonly Step[], index: number): unknown {
  const step = steps[index] as Step;
  const { id } = step;
  if (step.kind === 'rejected') return rejectedCommand(step);
  if (step.kind !== 'paused' && step.kind !== 'resumed') return undefined;
  return {
    kind: step.kind === 'paused' ? 'pause' : 'resume',
    ...(id === '' ? {} : { id }),
    ...('why' in step ? { why: step.why } : {}),
  };
}

/** Without an event it was a command that was rejected: one that is malformed, or one for an id that has no lane, which comes to the same. */
function rejectedCommand({ id, trigger, reason, error }: StepOf<'rejected'>): unknown {
  if (trigger !== undefined) return undefined;
  if (reason !== 'invalid_command') return { kind: 'discard', id } satisfies Command;
  return {
    id,
    get kind() {
      throw error;
    },
  };
}

/** Whether a loop that has been stopped does not do this. */
function isAlive(steps: readonly Step[], index: number): boolean {
  const step = steps[index] as Step;
  switch (step.kind) {
    case 'enqueued':
      return step.trigger !== undefined || !isAnsweredMark(steps, index);
    case 'dropped':
      return step.reason !== 'stopped';
    case 'succeeded':
    case 'abandoned':
    case 'released':
      return false;
    default:
      return true;
  }
}

/** A mark that is not served: it is enqueued, and at once dropped. */
function isAnsweredMark(steps: readonly Step[], index: number): boolean {
  const [step, next] = [steps[index], steps[index + 1]];
  return step?.kind === 'enqueued' && step.trigger === undefined && next !== undefined && isStoppedDrop(next) && next.id === step.id;
}

/** A run that ends well and leaves a mark that nobody serves: it was stopped before, or what follows would be dropped with it. */
function leavesMark(steps: readonly Step[], index: number): boolean {
  const [end, drop, next] = [steps[index], steps[index + 2], steps[index + 3]];
  if (end?.kind !== 'succeeded' || drop === undefined || !isStoppedDrop(drop) || !isAnswerOfRun(steps, index + 2)) return false;
  return next === undefined || next.at !== end.at || !isStoppedDrop(next) || next.failure !== undefined;
}

function isStoppedDrop(step: Step): step is Extract<Step, { kind: 'dropped' }> {
  return step.kind === 'dropped' && step.reason === 'stopped';
}

/** Where that ends which was dropped by one stop, or by one end of a term. */
function lastOfCut(steps: readonly Step[], first: number): number {
  const at = steps[first]?.at;
  let last = first;
  for (let i = first + 1; i < steps.length && steps[i]?.at === at; i++) {
    const step = steps[i] as Step;
    const isPart = step.kind === 'abandoned' || isAnsweredMark(steps, i) || (isStoppedDrop(step) && step.failure === undefined);
    if (!isPart) break;
    last = i;
  }
  return last;
}

/** Nothing runs on that a reset would have cut off, and the lanes came one after the other, as at a reset. */
function couldBeReset(running: ReadonlyMap<string, RecordedRun>, steps: readonly Step[], first: number, last: number): boolean {
  const cut = new Set(
    steps.slice(first, last + 1).flatMap((step) => (step.kind === 'dropped' && step.took !== undefined ? [step.id] : [])),
  );
  for (const [id, { outcome }] of running) if (outcome === undefined && !cut.has(id)) return false;
  return isLaneByLane(steps, first, last);
}

/** A reset is answered by one lane after the other, in the order in which they were born; a stop first by what waits in all of them. */
function isLaneByLane(steps: readonly Step[], first: number, last: number): boolean {
  const born = [...new Set(steps.slice(0, first).map(({ worker }) => worker))];
  const lanes = steps.slice(first, last + 1).map(({ worker }) => born.indexOf(worker));
  return lanes.every((lane, i) => i === 0 || lane >= (lanes[i - 1] as number));
}
