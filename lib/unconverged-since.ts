import type { Entry } from '../operators/entry.js';
import type { Log, Remembered } from '../operators/history.js';
import type { Step } from '../operators/types.js';
import type { Inspected } from './inspect.js';

/**
 * Since when an id is not right: since the event, or the failure, that said so. Not one that only looks again later, rests, or is paused.
 * As far as its history goes back; it may be longer.
 */
export function unconvergedSince(entry: Readonly<Entry & Remembered>, { notes }: Inspected): number | undefined {
  const { id, state, dirty, hasFailed, log, since } = entry;
  if (state === 'waiting' && dirty === undefined && !hasFailed) return undefined;
  if (notes.loopPause !== undefined || notes.pauses.has(id)) return undefined;
  if (log !== undefined) return sinceGood(log);
  return hasFailed ? (notes.lastErrorOf(id)?.at ?? since) : since;
}

function sinceGood({ all, at, waited }: Log): number {
  if (all === undefined) return at - waited;
  let next = all.length;
  while (next > 0 && !isEnd(all[next - 1] as Step)) next--;
  return (all[next] ?? all[next - 1])?.at ?? at;
}

function isEnd(step: Step): boolean {
  return step.kind === 'succeeded' || step.kind === 'dropped' || (step.kind === 'requeued' && step.failure === undefined);
}
