import type { Backoff } from '../../operators/backoff.js';
import type { Enqueued, Requeued, Step } from '../../operators/types.js';

/** The lane to which each id went. An id that no step has named goes to the first. */
export function recordedHasher(steps: readonly Step[]): (id: string) => number {
  const lanes = new Map<string, number>();
  const failed = new Set<string>();
  for (const step of steps) {
    if (step.worker >= 0) lanes.set(step.id, step.worker);
    else if (step.kind !== 'rejected') continue;
    else if (step.reason === 'unrouted' || step.reason === 'invalid_command') lanes.set(step.id, -1);
    else if (step.reason === 'hasher_failed') failed.add(step.id);
  }
  return (id) => {
    if (failed.has(id)) throw new Error('The hasher failed');
    return lanes.get(id) ?? 0;
  };
}

/**
 * How long each retry waited, which a backoff with chance in it would not say again.
 *
 * @param count - how many steps of the replay there were
 */
export function recordedBackoff(steps: readonly Step[], resolution: number, count: () => number): Backoff {
  const delays = new Map<Step, number>();
  for (const runs of runsById(steps).values()) addDelays(delays, runs, resolution);
  return () => {
    for (let i = count(); i < steps.length; i++) {
      const delay = delays.get(steps[i] as Step);
      if (delay !== undefined) return delay;
    }
    return resolution;
  };
}

/** What is known of a run: why it was wanted, its number, and its failure if it is retried. */
interface Run {
  readonly enqueued: Enqueued;
  readonly attempt: number;
  failed?: Requeued;
  /** It was the last that `maxItemRetries` allowed. */
  isLast?: boolean;
}

function runsById(steps: readonly Step[]): Map<string, Run[]> {
  const runs = new Map<string, Run[]>();
  const enqueued = new Map<string, Enqueued>();
  for (const step of steps) {
    const { id } = step;
    const ofId = runs.get(id) ?? [];
    if (step.kind === 'enqueued') enqueued.set(id, step);
    else if (step.kind === 'started') ofId.push({ enqueued: enqueued.get(id) ?? { ...step, kind: 'enqueued' }, attempt: step.attempt });
    else if (step.kind === 'requeued' && step.failure !== undefined) Object.assign(ofId.at(-1) ?? {}, { failed: step });
    else if (step.kind === 'dropped' && step.reason === 'retries') Object.assign(ofId.at(-1) ?? {}, { isLast: true });
    runs.set(id, ofId);
  }
  return runs;
}

/** From the last to the first, as what an event has brought forward shows its deadline only later (E1). */
function addDelays(delays: Map<Step, number>, runs: readonly Run[], resolution: number): void {
  let deadline = 0;
  for (let i = runs.length - 1; i >= 0; i--) {
    const { failed } = runs[i] as Run;
    if (failed === undefined) continue;
    const [next, afterNext] = [runs[i + 1], runs[i + 2]].map((run) => (run?.attempt === 1 ? undefined : run));
    const { enqueued, attempt, isLast = false } = next ?? {};
    // An event has brought it forward to the end of the embargo.
    const isEarly = enqueued?.reason === 'event' && enqueued.trigger === undefined;
    const isCounted = isLast || (!isEarly && next?.failed !== undefined && afterNext?.attempt !== attempt);
    if (failed.delay > resolution || enqueued === undefined) deadline = failed.at + failed.delay;
    // A retry comes at its deadline; another run that counts, after it.
    else if (enqueued.reason === 'retry' || isCounted) deadline = Math.floor(enqueued.at / resolution) * resolution;
    // Else the next run was early. If it failed, the deadline was the same for both.
    else if (next?.failed === undefined) deadline = enqueued.at + resolution;
    const tick = Math.ceil((failed.at + failed.delay) / resolution) * resolution;
    delays.set(failed, deadline <= tick ? failed.delay : deadline - failed.at);
  }
}
