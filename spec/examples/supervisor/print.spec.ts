import { describe, expect, it } from 'vitest';
import type { Step } from 'kreconciler';
import { describe as inWords, stepToJson } from '../../../examples/supervisor/print.js';

const base = { id: 'web', worker: 0, at: 5 };

describe('a step', () => {
  it.each<[Step, string]>([
    [{ ...base, kind: 'enqueued', reason: 'event', trigger: { id: 'web', stream: 'files' } }, 'enqueued by files'],
    [{ ...base, kind: 'enqueued', reason: 'event' }, 'enqueued by an event during its run'],
    [{ ...base, kind: 'enqueued', reason: 'retry' }, 'enqueued for its retry'],
    [{ ...base, kind: 'merged', trigger: { id: 'web', stream: 'exits' } }, 'merged an event of exits'],
    [{ ...base, kind: 'rejected', reason: 'full' }, 'rejected: full'],
    [{ ...base, kind: 'started', attempt: 1, reason: 'event', streams: [], waited: 0 }, 'started'],
    [{ ...base, kind: 'started', attempt: 2, reason: 'retry', streams: [], waited: 0 }, 'started, attempt 2'],
    [{ ...base, kind: 'succeeded', attempt: 1, took: 1234 }, 'succeeded in 1.23 s'],
    [{ ...base, kind: 'requeued', attempt: 1, took: 1, delay: 500 }, 'runs again in 0.50 s'],
    [
      { ...base, kind: 'requeued', attempt: 1, took: 1, delay: 30_000, failure: 'thrown', error: new Error('no') },
      'failed, tries again in 30 s: no',
    ],
    [{ ...base, kind: 'dropped', attempt: 1, reason: 'terminal', failure: 'thrown', error: 'no' }, 'dropped: terminal: no'],
    [{ ...base, kind: 'dropped', attempt: 1, reason: 'stopped' }, 'dropped: stopped'],
    [{ ...base, kind: 'abandoned' }, 'abandoned: its run does not end'],
    [{ ...base, kind: 'released' }, 'released: its run has ended at last'],
  ])('should be a line that people can read: %j', (step, words) => {
    expect(inWords(step)).toBe(`web       ${words}`);
  });

  it('should be JSON with its error as name and message', () => {
    const step: Step = { ...base, kind: 'dropped', attempt: 1, reason: 'terminal', failure: 'thrown', error: new TypeError('no') };
    expect(JSON.parse(stepToJson(step))).toEqual({ ...step, error: { name: 'TypeError', message: 'no' } });
  });
});
