import type { IdRow, StepMessage } from '../api.js';

/** What a thing is coloured by; there is always a word beside it. */
export type Tone = 'ready' | 'running' | 'waiting' | 'abandoned' | 'paused' | 'idle' | 'good' | 'fail' | 'bad';

/** A step as it is drawn: with a colour, a sign, and hollow where it is a beginning and no end. */
export interface Look {
  readonly tone: Tone;
  readonly hollow: boolean;
  /** The path of its sign, around 0. */
  readonly sign: string;
}

const PLUS = 'm-3.5 0h7m-3.5-3.5v7';
const EQUALS = 'm-3-1.7h6m-6 3.4h6';
const SLASH = 'm-3 3 6-6';
const PLAY = 'm-1.8-3.2 4.6 3.2-4.6 3.2z';
const CHECK = 'm-3.5 0.2 2.5 2.5 4.5-5.2';
const BANG = 'm0-3.8v4.2m0 3.1v.2';
const AGAIN = 'm3 1.8a3.5 3.5 0 1 1 .2-3.2m.3-2.2v2.4h-2.4';
const CROSS = 'm-2.9-2.9 5.8 5.8m0-5.8-5.8 5.8';
const DOTS = 'm-3.2 0h.1m3.1 0h.1m3.1 0h.1';
const ARROW = 'm-3.4 0h6.4m-2.6-2.8 2.8 2.8-2.8 2.8';
const BARS = 'm-1.8-3v6m3.6-6v6';

/** The ways in which an id was given up because somebody wanted it so. */
const WANTED = ['discarded', 'moved', 'stopped'];

export function lookOf({ kind, failure, reason = '' }: Pick<StepMessage, 'kind' | 'failure' | 'reason'>): Look {
  switch (kind) {
    case 'enqueued':
      return { tone: 'ready', hollow: true, sign: PLUS };
    case 'merged':
      return { tone: 'idle', hollow: true, sign: EQUALS };
    case 'rejected':
      return { tone: 'bad', hollow: true, sign: SLASH };
    case 'started':
      return { tone: 'running', hollow: true, sign: PLAY };
    case 'succeeded':
      return { tone: 'good', hollow: false, sign: CHECK };
    case 'requeued':
      if (failure === undefined || failure === 'superseded') return { tone: 'ready', hollow: false, sign: AGAIN };
      return { tone: 'fail', hollow: false, sign: BANG };
    case 'dropped':
      return { tone: WANTED.includes(reason) ? 'idle' : 'bad', hollow: false, sign: CROSS };
    case 'abandoned':
      return { tone: 'bad', hollow: true, sign: DOTS };
    case 'released':
      return { tone: 'idle', hollow: true, sign: ARROW };
    case 'paused':
      return { tone: 'paused', hollow: false, sign: BARS };
    case 'resumed':
      return { tone: 'paused', hollow: true, sign: PLAY };
  }
}

/** Why an id is where it is, in a few words. */
export function whyOf(row: IdRow): string {
  if (row.state === 'idle') return row.paused === undefined ? '' : paused(row.paused.why);
  const because = { event: 'an event', retry: 'a retry', requeue: 'as it asked' }[row.reason];
  const { heldBy } = row;
  if (heldBy === undefined) return because;
  switch (heldBy) {
    case 'queue':
      return `its turn comes: ${because}`;
    case 'place':
      return `waits for a place in the loop: ${because}`;
    case 'key':
      return `its key is at its limit: ${because}`;
    case 'pause':
      return row.paused === undefined ? 'the loop is paused' : paused(row.paused.why);
    case 'retry':
      return `failed ${row.failures === 1 ? 'once' : `${row.failures} times`}, tries again`;
    case 'requeue':
      return 'asked to run again';
    case 'cooldown':
      return 'rests after a good run';
    case 'promise':
      return 'its promise has outlived its run';
  }
}

function paused(why: string | undefined): string {
  return why === undefined || why === '' ? 'paused' : `paused: ${why}`;
}
