import { describe, expect, it } from 'vitest';
import type { StepMessage } from '../../../../lib/view/api.js';
import { layOut } from '../../../../lib/view/page/marbles.js';

const step = (kind: StepMessage['kind'], at: number, fields: Partial<StepMessage> = {}): StepMessage => ({
  kind,
  id: 'web',
  worker: 0,
  at,
  ...fields,
});
const failed = { failure: 'thrown', attempt: 1 };

describe('layOut', () => {
  it('should keep marbles in order and apart, also those of one moment', () => {
    const { marbles, now } = layOut(
      [step('enqueued', 0), step('started', 0), step('succeeded', 0), step('enqueued', 3_600_000)],
      3_600_001,
      undefined,
      0,
    );
    const places = [...marbles.map(({ x }) => x), now];
    for (const [index, place] of places.slice(1).entries()) expect(place - places[index]!).toBeGreaterThanOrEqual(20);
  });

  it('should show a longer time by a longer gap', () => {
    const { marbles } = layOut(
      [step('enqueued', 0), step('started', 10), step('succeeded', 1010), step('enqueued', 61_010)],
      61_010,
      undefined,
      0,
    );
    const gaps = marbles.slice(1).map(({ x }, index) => x - marbles[index]!.x);
    expect(gaps).toEqual([...gaps].sort((a, b) => a - b));
    expect(new Set(gaps).size).toBe(3);
  });

  it('should mark runs and the waits between them, up to now for one that goes on', () => {
    const history = [step('started', 0), step('requeued', 400, failed), step('merged', 500), step('enqueued', 900), step('started', 900)];
    const { marbles, stretches, now } = layOut(history, 1000, undefined, 0);
    const x = marbles.map((marble) => marble.x);
    expect(stretches).toEqual([
      { kind: 'run', from: x[0], to: x[1], tone: 'fail', lasted: 400 },
      { kind: 'wait', from: x[1], to: x[3], tone: 'fail', lasted: 500 },
      { kind: 'run', from: x[4], to: now, tone: 'running', lasted: 100 },
    ]);
  });

  it('should show when it is due, but no wake-up that is past', () => {
    const history = [step('requeued', 0, failed)];
    const { due, now } = layOut(history, 1000, 5000, 0);
    expect(due).toBeGreaterThan(now);
    expect(layOut(history, 1000, 900, 0).due).toBeUndefined();
  });

  it('should fill the width that there is, and take more where it must', () => {
    const many = Array.from({ length: 50 }, (_, index) => step('merged', index * 1000));
    expect(layOut(many.slice(0, 4), 4000, undefined, 400).width).toBe(400);
    expect(layOut(many, 50_000, undefined, 400).width).toBeGreaterThan(2000);
  });

  it('should have a row for nobody, and for a clock that went back', () => {
    expect(layOut([], 0, undefined, 300)).toMatchObject({ width: 300, marbles: [], stretches: [] });
    const { marbles, now } = layOut([step('started', 5000), step('succeeded', 4000)], 3000, undefined, 0);
    expect(marbles[1]!.x).toBeGreaterThan(marbles[0]!.x);
    expect(now).toBeGreaterThan(marbles[1]!.x);
  });
});
