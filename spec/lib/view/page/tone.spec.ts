import { describe, expect, it } from 'vitest';
import type { IdRow } from '../../../../lib/view/api.js';
import { lookOf, whyOf } from '../../../../lib/view/page/tone.js';

const waiting: IdRow = { id: 'web', worker: 0, state: 'waiting', attempt: 2, failures: 1, reason: 'retry', streams: [] };

describe('whyOf', () => {
  it.each<[IdRow, string]>([
    [{ ...waiting, state: 'running', reason: 'event' }, 'an event'],
    [{ ...waiting, state: 'running' }, 'a retry'],
    [{ ...waiting, state: 'ready', heldBy: 'queue', reason: 'requeue' }, 'its turn comes: as it asked'],
    [{ ...waiting, state: 'ready', heldBy: 'place', reason: 'event' }, 'waits for a place in the loop: an event'],
    [{ ...waiting, state: 'ready', heldBy: 'key', reason: 'event' }, 'its key is at its limit: an event'],
    [{ ...waiting, heldBy: 'retry' }, 'failed once, tries again'],
    [{ ...waiting, heldBy: 'retry', failures: 7 }, 'failed 7 times, tries again'],
    [{ ...waiting, heldBy: 'requeue' }, 'asked to run again'],
    [{ ...waiting, heldBy: 'cooldown' }, 'rests after a good run'],
    [{ ...waiting, state: 'abandoned', heldBy: 'promise' }, 'its promise has outlived its run'],
    [{ ...waiting, heldBy: 'pause' }, 'the loop is paused'],
    [{ ...waiting, heldBy: 'pause', paused: { since: 0 } }, 'paused'],
    [{ id: 'web', state: 'idle', paused: { since: 0, why: 'moving house' } }, 'paused: moving house'],
    [{ id: 'web', state: 'idle' }, ''],
  ])('should say of %j: %s', (row, said) => {
    expect(whyOf(row)).toBe(said);
  });
});

describe('lookOf', () => {
  it('should be alarmed by what failed, and by nothing that somebody wanted', () => {
    expect(lookOf({ kind: 'requeued', failure: 'thrown' }).tone).toBe('fail');
    expect(lookOf({ kind: 'dropped', reason: 'terminal' }).tone).toBe('bad');
    for (const reason of ['discarded', 'moved', 'stopped']) expect(lookOf({ kind: 'dropped', reason }).tone).toBe('idle');
    for (const failure of ['superseded', undefined]) expect(lookOf({ kind: 'requeued', ...(failure && { failure }) }).tone).toBe('ready');
  });
});
