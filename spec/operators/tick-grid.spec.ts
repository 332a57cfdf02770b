import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { LinkedListNode } from '../../operators/linked-list.js';
import { type Tick, TickGrid } from '../../operators/tick-grid.js';

class Node implements LinkedListNode<Node> {
  previous: Node | undefined = undefined;
  next: Node | undefined = undefined;
}

function grid(resolution = 100): { ticks: TickGrid<Node>; armed: Tick<Node>[]; disarmed: Tick<Node>[] } {
  const armed: Tick<Node>[] = [];
  const disarmed: Tick<Node>[] = [];
  const ticks = new TickGrid<Node>(resolution, (tick) => {
    armed.push(tick);
    return () => disarmed.push(tick);
  });
  return { ticks, armed, disarmed };
}

describe('Ticks', () => {
  // prettier-ignore -- aligned
  it.each([
    { now: 0, delay: 1, due: 100 },
    { now: 0, delay: 100, due: 100 },
    { now: 0, delay: 101, due: 200 },
    { now: 0, delay: 0, due: 0 },
    { now: 100, delay: 0, due: 100 },
    { now: 1, delay: 0, due: 100 },
    { now: 99, delay: 1, due: 100 },
    { now: 99, delay: 2, due: 200 },
    { now: 0, delay: Number.MIN_VALUE, due: 100 },
    { now: 200, delay: 1e-16, due: 300 },
    { now: 1.7e12, delay: 1e-6, due: 1.7e12 + 100 },
    { now: 0, delay: 2 ** 40 + 1, due: Math.ceil((2 ** 40 + 1) / 100) * 100 },
  ])('T1 should be due at $due for a delay of $delay at $now', ({ now, delay, due }) => {
    expect(grid().ticks.after(delay, now).due).toBe(due);
  });

  it('T1 should be never early, and at most one tick late', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 5000 }),
        fc.nat(2 ** 31),
        fc.nat(2 ** 31).map((quarters) => quarters / 4),
        (resolution, now, delay) => {
          const { due } = grid(resolution).ticks.after(delay, now);
          expect(due).toBeGreaterThanOrEqual(now + delay);
          expect(due).toBeLessThan(now + delay + resolution);
          expect(due % resolution).toBe(0);
        },
      ),
    );
  });

  it('T2 should arm one tick for all who are due in it', () => {
    const { ticks, armed } = grid();
    const tick = ticks.after(120, 0);
    expect(ticks.after(200, 0)).toBe(tick);
    expect(ticks.after(5, 180)).toBe(tick);
    expect(ticks.after(201, 0)).not.toBe(tick);
    expect(armed.map(({ due, armedAt }) => ({ due, armedAt }))).toEqual([
      { due: 200, armedAt: 0 },
      { due: 300, armedAt: 0 },
    ]);
  });

  it('should arm a later tick for those who come when one has fired', () => {
    const { ticks, armed } = grid();
    const first = ticks.after(100, 0);
    expect(first.fired).toBe(false);
    first.fire(100);
    expect(first.fired).toBe(true);
    expect(ticks.after(0, 100)).not.toBe(first);
    expect(armed).toHaveLength(2);
  });

  it('T4 should not join a tick that was armed by a clock that has been set back since', () => {
    const { ticks, armed } = grid();
    const before = ticks.after(100, 1000);
    const after = ticks.after(150, 950);
    expect([before.due, after.due]).toEqual([1100, 1100]);
    expect(after).not.toBe(before);
    expect(armed.map(({ due, armedAt }) => due - armedAt)).toEqual([100, 150]);
  });

  it('T4 should not join one if the clock has been set back at all, though not to before it was armed', () => {
    const { ticks } = grid();
    const before = ticks.after(1000, 0);
    ticks.after(1, 800);
    expect(ticks.after(900, 100)).not.toBe(before);
  });

  it('T4 should join one that was armed since the clock was set back', () => {
    const { ticks } = grid();
    ticks.after(100, 1000);
    const since = ticks.after(500, 600);
    expect(ticks.after(400, 700)).toBe(since);
  });

  it('T4 should leave the younger of two ticks with one name on the grid when the older fires', () => {
    const { ticks } = grid();
    const before = ticks.after(100, 1000);
    const after = ticks.after(150, 950);
    before.fire(955);
    expect(ticks.after(140, 960)).toBe(after);
  });
});

describe('a tick', () => {
  it('should be disarmed when the last who waits for it leaves', () => {
    const { ticks, disarmed } = grid();
    const tick = ticks.after(100, 0);
    const [one, two] = [new Node(), new Node()];
    tick.join(one);
    tick.join(two);
    tick.leave(one);
    expect(disarmed).toEqual([]);
    tick.leave(two);
    expect(disarmed).toEqual([tick]);
    expect(ticks.after(100, 0)).not.toBe(tick);
  });

  it('should stay armed as long as someone looks at it', () => {
    const { ticks, disarmed } = grid();
    const tick = ticks.after(100, 0);
    const member = new Node();
    tick.join(member);
    tick.hold();
    tick.hold();
    tick.leave(member);
    tick.letGo();
    expect(disarmed).toEqual([]);
    tick.letGo();
    expect(disarmed).toEqual([tick]);
  });

  it('should stay armed for its members when nobody looks at it any longer', () => {
    const { ticks, disarmed } = grid();
    const tick = ticks.after(100, 0);
    tick.join(new Node());
    tick.hold();
    tick.letGo();
    expect(disarmed).toEqual([]);
  });

  it('should have nothing to disarm once it has fired', () => {
    const { ticks, disarmed } = grid();
    const tick = ticks.after(100, 0);
    tick.hold();
    tick.fire(100);
    tick.letGo();
    expect(disarmed).toEqual([]);
  });

  it('should be let go of by one who does not arm it', () => {
    const ticks = new TickGrid<Node>(100, () => () => undefined);
    const tick = ticks.after(100, 0);
    tick.hold();
    expect(() => tick.letGo()).not.toThrow();
  });
});
