import { describe, expect, it } from 'vitest';
import type { Step } from 'kreconciler';
import { draw, follow, type News, type Rows } from '../../../examples/supervisor/table.js';

const death = (id: string) => ({ death: { key: '', id, replica: 0, version: '', pid: 1 } });
const status = (id: string, desired: number, running: number) => ({
  status: {
    id,
    desired,
    running,
    pids: Array.from({ length: running }, (_, i) => i + 7),
    since: running === 0 ? undefined : 0,
    isChanging: false,
  },
});
const failed = (id: string, error: unknown): News => ({
  step: { kind: 'requeued', id, worker: 0, at: 0, attempt: 1, took: 1, delay: 100_000, failure: 'thrown', error },
});
const succeeded = (id: string): News => ({ step: { kind: 'succeeded', id, worker: 0, at: 0, attempt: 1, took: 1 } });
const table = (news: readonly News[], size = { columns: 100, lines: 10 }) =>
  draw(news.reduce<Rows>(follow, new Map()), { ...size, now: 90_000 }).map(({ text }) => text);

describe('the table', () => {
  it('should show how each service stands, by name', () => {
    const news = [status('web', 2, 1), failed('broken', new Error('no\nJSON')), status('api', 4, 4), death('api'), death('api')];
    expect(table(news)).toEqual([
      'service  desired  running  restarts  uptime  next try  pids       last error',
      'api      4        4        2         1 min             7 8 9 ...',
      'broken   ?        0        0                 in 10 s              no JSON',
      'web      2        1        0         1 min             7',
    ]);
    const tones = draw(news.reduce<Rows>(follow, new Map()), { columns: 100, lines: 10, now: 0 }).map(({ tone }) => tone);
    expect(tones).toEqual(['plain', 'good', 'bad', 'busy']);
  });

  it('should not name a next try once it has begun', () => {
    const started: News = { step: { kind: 'started', id: 'api', worker: 0, at: 1, attempt: 2, reason: 'retry', streams: [], waited: 0 } };
    expect(table([failed('api', 'no'), started]).at(1)).not.toContain('in 10 s');
  });

  it('should forget an error once the service is well', () => {
    expect(table([status('api', 1, 1), failed('api', 'in vain'), succeeded('api')]).at(1)).not.toContain('in vain');
  });

  it('should forget a service once nothing of it is wanted and nothing left', () => {
    expect(table([status('api', 0, 1), succeeded('api')])).toHaveLength(2);
    expect(table([status('api', 0, 1), status('api', 0, 0), succeeded('api')])).toHaveLength(1);
  });

  it('should stay within the terminal', () => {
    const many = Array.from({ length: 20 }, (_, i) => status(`service-${i}`, 1, 1));
    const drawn = table(many, { columns: 20, lines: 6 });
    expect(drawn).toHaveLength(6);
    expect(drawn.at(-1)).toBe('... and 16 more');
    expect(Math.max(...drawn.map((line) => line.length))).toBeLessThan(20);
  });

  it('should not mind the other steps', () => {
    const rows: Rows = new Map();
    expect(follow(rows, { step: { kind: 'merged', id: 'api', worker: 0, at: 0 } satisfies Step })).toBe(rows);
  });
});
