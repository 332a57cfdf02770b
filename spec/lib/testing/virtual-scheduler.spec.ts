import { fc, test } from '@fast-check/vitest';
import { VirtualScheduler } from 'kreconciler/testing';
import { interval, merge, observeOn, of, take, timer } from 'rxjs';
import { describe, expect, it } from 'vitest';

/** Runs all that is due, at most `count` things. */
function run(scheduler: VirtualScheduler, count = 1000): void {
  for (; count > 0 && scheduler.size > 0; count--) scheduler.runNext();
}

describe('VirtualScheduler', () => {
  test.prop([fc.array(fc.tuple(fc.nat(50), fc.boolean()), { maxLength: 100 })])(
    'should run what is due in the order of time, and of scheduling at one time, but for what was cancelled',
    (delays) => {
      const scheduler = new VirtualScheduler();
      const seen: number[] = [];
      const actions = delays.map(([delay], i) => scheduler.schedule(() => void seen.push(i), delay));
      delays.forEach(([, isCancelled], i) => {
        if (isCancelled) actions[i]!.unsubscribe();
      });
      run(scheduler);
      const expected = delays
        .flatMap(([delay, isCancelled], i) => (isCancelled ? [] : [{ delay, i }]))
        .sort((a, b) => a.delay - b.delay || a.i - b.i);
      expect(seen).toEqual(expected.map(({ i }) => i));
      expect(scheduler.size).toBe(0);
    },
  );

  test.prop([fc.array(fc.tuple(fc.nat(3), fc.array(fc.tuple(fc.nat(3), fc.boolean()), { maxLength: 5 })), { maxLength: 20 })])(
    'should keep that order for what actions schedule and cancel',
    (actions) => {
      const scheduler = new VirtualScheduler();
      const seen: { due: number; order: number }[] = [];
      let order = 0;
      let waiting = 0;
      const add = (delay: number, then: () => void): (() => void) => {
        const known = { due: scheduler.elapsed + delay, order: order++ };
        waiting++;
        const action = scheduler.schedule(() => {
          seen.push(known);
          expect(scheduler.elapsed).toBe(known.due);
          waiting--;
          then();
        }, delay);
        return () => {
          action.unsubscribe();
          waiting--;
        };
      };
      for (const [delay, caused] of actions) {
        add(delay, () => {
          for (const [later, isCancelled] of caused) {
            const cancel = add(later, () => undefined);
            if (isCancelled) cancel();
          }
          expect(scheduler.size).toBe(waiting);
        });
      }
      run(scheduler);
      expect(waiting).toBe(0);
      expect(seen).toEqual([...seen].sort((a, b) => a.due - b.due || a.order - b.order));
    },
  );

  it('should be a scheduler for the operators of rxjs', () => {
    const scheduler = new VirtualScheduler();
    const seen: string[] = [];
    merge(interval(10, scheduler).pipe(take(3)), timer(15, scheduler), of('now').pipe(observeOn(scheduler))).subscribe((value) =>
      seen.push(`${scheduler.now()} ${value}`),
    );
    run(scheduler);
    expect(seen).toEqual(['0 now', '10 0', '15 0', '20 1', '30 2']);
  });

  it('should never run what is due at infinity, and take what is no delay for none', () => {
    const scheduler = new VirtualScheduler();
    const seen: number[] = [];
    for (const delay of [Infinity, -5, NaN]) scheduler.schedule(() => void seen.push(delay), delay);
    run(scheduler);
    expect(seen).toEqual([-5, NaN]);
    expect(scheduler.next).toBe(Infinity);
    scheduler.runNext();
    expect(scheduler.elapsed).toBe(0);
  });

  it('should let an action schedule itself again, but not once it is unsubscribed', () => {
    const scheduler = new VirtualScheduler();
    const seen: number[] = [];
    const action = scheduler.schedule<number>(
      function (count = 0) {
        seen.push(scheduler.now());
        this.schedule(count + 1, 10);
      },
      5,
      0,
    );
    run(scheduler, 3);
    action.unsubscribe();
    run(scheduler);
    expect(seen).toEqual([5, 15, 25]);
  });

  it('should move nothing that is due when its wall clock is set', () => {
    const scheduler = new VirtualScheduler();
    const seen: number[] = [];
    scheduler.schedule(() => void seen.push(scheduler.elapsed, scheduler.now()), 100);
    scheduler.stepClock(-5000);
    expect(scheduler.now()).toBe(-5000);
    run(scheduler);
    expect(seen).toEqual([100, -4900]);
  });

  it('should throw what an action throws, and go on', () => {
    const scheduler = new VirtualScheduler();
    scheduler.schedule(() => {
      throw new Error('no');
    });
    scheduler.schedule(() => undefined, 1);
    expect(() => {
      scheduler.runNext();
    }).toThrow('no');
    scheduler.passTo(10);
    run(scheduler);
    expect(scheduler.elapsed).toBe(10);
  });
});
