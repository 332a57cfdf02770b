import type { StepMessage } from '../api.js';
import { lookOf, type Tone } from './tone.js';

/** A step on the axis. */
export interface Marble {
  readonly x: number;
  readonly step: StepMessage;
}

/** What lasted from one moment to another. */
export interface Stretch {
  readonly from: number;
  readonly to: number;
  readonly kind: 'run' | 'wait';
  readonly tone: Tone;
  /** In ms. */
  readonly lasted: number;
}

/** One id's history, laid out. */
export interface MarbleRow {
  readonly width: number;
  readonly marbles: readonly Marble[];
  readonly stretches: readonly Stretch[];
  readonly now: number;
  /** Where its wake-up is, if it waits for one. */
  readonly due: number | undefined;
}

/** Between two marbles of one moment, in px: they touch and stay apart. */
const LEAST = 24;
const MARGIN = 36;
/** How much longer a gap is on the page when it is twice as long in time, in px. */
const DOUBLED = 9;
/** In ms. */
const SHORT = 20;

/**
 * Lays steps out on a time axis on which ten ms and ten minutes can both be seen: a gap grows with the logarithm of its time. What is
 * left of `width` is shared among the gaps.
 *
 * @param at - now
 * @param until - when the id is woken, if it waits for that
 */
export function layOut(history: readonly StepMessage[], at: number, until: number | undefined, width: number): MarbleRow {
  const due = until !== undefined && until > at ? until : undefined;
  const last = history.at(-1)?.at ?? at;
  const times = [...history.map((step) => step.at), Math.max(at, last), ...(due === undefined ? [] : [due])];
  const gaps = times.slice(1).map((time, index) => LEAST + DOUBLED * Math.log2(1 + Math.max(0, time - (times[index] ?? time)) / SHORT));
  const needed = gaps.reduce((sum, gap) => sum + gap, 2 * MARGIN);
  const stretch = Math.max(1, (width - 2 * MARGIN) / Math.max(1, needed - 2 * MARGIN));
  const places = [MARGIN];
  for (const gap of gaps) places.push((places.at(-1) ?? MARGIN) + gap * Math.min(stretch, 3));
  const placeOf = (index: number): number => places[index] ?? MARGIN;
  const marbles = history.map((step, index) => ({ x: placeOf(index), step }));
  return {
    width: Math.max(width, (places.at(-1) ?? 0) + MARGIN),
    marbles,
    stretches: stretches(marbles, { x: placeOf(history.length), at }),
    now: placeOf(history.length),
    due: due === undefined ? undefined : placeOf(history.length + 1),
  };
}

/** Runs, and the waits between a run and the next `enqueued`. */
function stretches(marbles: readonly Marble[], now: { readonly x: number; readonly at: number }): Stretch[] {
  const all: Stretch[] = [];
  let open: { readonly kind: 'run' | 'wait'; readonly from: Marble } | undefined;
  const close = (to: { readonly x: number; readonly at: number }, tone: Tone): void => {
    if (open === undefined) return;
    const { kind, from } = open;
    all.push({ kind, from: from.x, to: to.x, tone: kind === 'wait' ? lookOf(from.step).tone : tone, lasted: to.at - from.step.at });
    open = undefined;
  };
  for (const marble of marbles) {
    const { step, x } = marble;
    if (['enqueued', 'started', 'succeeded', 'requeued', 'dropped'].includes(step.kind)) close({ x, at: step.at }, lookOf(step).tone);
    if (step.kind === 'started') open = { kind: 'run', from: marble };
    if (step.kind === 'requeued') open = { kind: 'wait', from: marble };
  }
  close(now, 'running');
  return all;
}
