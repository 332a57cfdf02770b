import { describe, expect, it } from 'vitest';
import type { StepMessage } from '../../../../lib/view/api.js';
import { brief, count, details, duration, errorText, rate } from '../../../../lib/view/page/format.js';

describe('duration', () => {
  it.each([
    [-5, '0 ms'],
    [0, '0 ms'],
    [999.4, '999 ms'],
    [999.5, '1.0 s'],
    [9_949, '9.9 s'],
    [9_950, '10 s'],
    [59_499, '59 s'],
    [59_500, '1 min 00 s'],
    [125_000, '2 min 05 s'],
    [3_599_400, '59 min 59 s'],
    [3_599_500, '1 h 00 min'],
    [11_520_000, '3 h 12 min'],
    [86_370_000, '1 d 0 h'],
    [446_400_000, '5 d 4 h'],
  ])('should say %d ms as %s', (ms, said) => {
    expect(duration(ms)).toBe(said);
  });
});

it('should say a time in one unit where there is little room', () => {
  expect([300, 4200, 59_499, 59_500, 650_000, 11_520_000, 446_400_000].map(brief)).toEqual([
    '300 ms',
    '4.2 s',
    '59 s',
    '1 min',
    '10 min',
    '3 h',
    '5 d',
  ]);
});

it('should say numbers and rates as people read them', () => {
  expect([count(100_000), rate(0), rate(0.23), rate(12.4), rate(1234)]).toEqual(['100,000', '0/s', '0.2/s', '12/s', '1,234/s']);
});

it('should say an error by its message, and by its name where that says something', () => {
  expect(errorText({ name: 'Error', message: 'no connection' })).toBe('no connection');
  expect(errorText({ name: 'TypeError', message: 'no function' })).toBe('TypeError: no function');
  expect(errorText({ name: 'AbortError', message: '' })).toBe('AbortError');
});

describe('details', () => {
  const step = (fields: Partial<StepMessage> & Pick<StepMessage, 'kind'>): StepMessage => ({ id: 'web', worker: 0, at: 0, ...fields });

  it.each<[Partial<StepMessage> & Pick<StepMessage, 'kind'>, string]>([
    [{ kind: 'enqueued', reason: 'event', stream: 'files' }, 'by files'],
    [{ kind: 'enqueued', reason: 'event' }, 'by an event'],
    [{ kind: 'enqueued', reason: 'retry' }, 'for its retry'],
    [{ kind: 'merged', stream: 'resync' }, 'by resync'],
    [{ kind: 'rejected', reason: 'not_owned' }, 'not owned'],
    [{ kind: 'rejected', reason: 'full', stream: 'resync' }, 'full · by resync'],
    [
      { kind: 'started', attempt: 2, reason: 'retry', streams: ['files', 'exits'], waited: 30 },
      'attempt 2 · for files, exits · waited 30 ms',
    ],
    [{ kind: 'started', attempt: 1, reason: 'event', streams: [], waited: 0 }, 'attempt 1 · waited 0 ms'],
    [{ kind: 'succeeded', attempt: 1, took: 12 }, 'in 12 ms'],
    [{ kind: 'succeeded', attempt: 3, took: 1200 }, 'in 1.2 s · at attempt 3'],
    [{ kind: 'requeued', attempt: 1, took: 1, delay: 60_000 }, 'as it asked · again in 1 min 00 s'],
    [
      { kind: 'requeued', attempt: 1, took: 1, delay: 500, failure: 'thrown', error: { name: 'Error', message: 'gone' } },
      'thrown at attempt 1 · again in 500 ms · gone',
    ],
    [{ kind: 'dropped', attempt: 2, reason: 'stopped' }, 'stopped'],
    [{ kind: 'dropped', attempt: 9, reason: 'retries', failure: 'timeout' }, 'retries · timeout at attempt 9'],
    [{ kind: 'abandoned' }, 'its promise is still open'],
    [{ kind: 'released' }, 'its promise has settled'],
    [{ kind: 'paused', why: 'moving house' }, 'moving house'],
    [{ kind: 'paused' }, ''],
    [{ kind: 'resumed' }, ''],
  ])('should say of %j: %s', (fields, said) => {
    expect(details(step(fields))).toBe(said);
  });
});
