import { readFile } from 'node:fs/promises';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { reconcile, type ReconcileConfig, type Reconciler, type Step } from 'kreconciler/operators';
import { type VirtualClock, virtualTime } from 'kreconciler/testing';
import { delay, firstValueFrom, interval, of, take, timer, toArray } from 'rxjs';
import { describe, expect, it } from 'vitest';

/** Runs a loop over the id `a`, and writes down what happens and when. */
function loop(clock: VirtualClock, reconciler: Reconciler, config: ReconcileConfig = {}): string[] {
  const log: string[] = [];
  of('a')
    .pipe(reconcile(reconciler, { scheduler: clock.scheduler, ...config }))
    .subscribe(({ kind, at }: Step) => log.push(`${at} ${kind}`));
  return log;
}

describe('virtualTime', () => {
  it('should run async reconcilers in virtual time', () =>
    virtualTime(async (clock) => {
      const log = loop(clock, async () => {
        await clock.sleep(100);
        await Promise.resolve();
        await clock.sleep(50);
      });
      await clock.advance(149);
      expect(log).toEqual(['0 enqueued', '0 started']);
      await clock.advance(1);
      expect(log).toEqual(['0 enqueued', '0 started', '150 succeeded']);
    }));

  it(
    'should compute a thousand hours in seconds',
    () =>
      virtualTime(async (clock) => {
        const log = loop(clock, async () => {
          await clock.sleep(700);
          return { requeueDelay: 120_000 };
        });
        await clock.advance(1000 * 3_600_000);
        expect(log.length).toBeGreaterThan(80_000);
        expect(clock.now()).toBe(3_600_000_000);
      }),
    60_000,
  );

  it('should run the same way each time', async () => {
    const run = () =>
      virtualTime(async (clock) => {
        const log = loop(clock, async () => {
          await Promise.race([clock.sleep(250), clock.sleep(250)]);
          return { requeueDelay: 1 };
        });
        await clock.advance(10_000);
        return log;
      });
    expect(await run()).toEqual(await run());
  });

  it('should let promise jobs settle between two ticks, however many they are', () =>
    virtualTime(async (clock) => {
      const log: string[] = [];
      timer(10, clock.scheduler).subscribe(() => {
        void (async () => {
          for (let i = 0; i < 5000; i++) await Promise.resolve();
          await new Promise((resolve) => {
            process.nextTick(resolve);
          });
          await setImmediate();
          await setImmediate();
          log.push(`jobs at ${clock.now()}`);
        })();
      });
      timer(11, clock.scheduler).subscribe(() => log.push('the next tick'));
      await clock.advance(11);
      expect(log).toEqual(['jobs at 10', 'the next tick']);
    }));

  it('should be a clock for the operators of rxjs', () =>
    virtualTime(async (clock) => {
      const values = firstValueFrom(interval(1000, clock.scheduler).pipe(take(3), delay(500, clock.scheduler), toArray()));
      await clock.advance(3500);
      expect(await values).toEqual([0, 1, 2]);
      expect(clock.now()).toBe(3500);
      expect(clock.scheduler.now()).toBe(3500);
    }));

  it('should time a hung reconciler out, and release it when it settles', () =>
    virtualTime(async (clock) => {
      const log = loop(clock, () => clock.sleep(1500), { maxReconcileTime: 1000, maxItemRetries: 0 });
      await clock.advance(2000);
      expect(log.slice(2)).toEqual(['1000 dropped', '1000 abandoned', '1500 released']);
    }));

  it('should end a sleep as soon as its signal aborts', () =>
    virtualTime(async (clock) => {
      const controller = new AbortController();
      const asleep = clock.sleep(1000, controller.signal);
      controller.abort('enough');
      await expect(asleep).rejects.toBe('enough');
      await expect(clock.sleep(1000, controller.signal)).rejects.toBe('enough');
      const awake = clock.sleep(5, new AbortController().signal);
      await clock.advance(5);
      await awake;
    }));

  it('should resolve and reject as its body does', async () => {
    await expect(virtualTime(async () => 5)).resolves.toBe(5);
    await expect(virtualTime(async () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    await expect(
      virtualTime(() => {
        throw new Error('at once');
      }),
    ).rejects.toThrow('at once');
  });

  it('should reject with what an action throws', async () => {
    const throwing = virtualTime(async (clock) => {
      clock.scheduler.schedule(() => {
        throw new Error('in an action');
      }, 10);
      await clock.advance(20);
    });
    await expect(throwing).rejects.toThrow('in an action');
  });

  it('should name the real timer for which a reconciler waits', async () => {
    const waiting = virtualTime(async (clock) => {
      loop(clock, () => setTimeout(5000));
      await clock.advance(100_000);
    });
    await expect(waiting).rejects.toThrow(/cannot wait for the real world, and at 0 ms .*\n {2}Timeout at .*virtual-time\.spec/su);
  });

  it('should name the file for which a reconciler waits', async () => {
    const waiting = virtualTime(async (clock) => {
      loop(clock, async () => {
        await clock.sleep(300);
        await readFile('package.json');
      });
      await clock.advance(100_000);
    });
    await expect(waiting).rejects.toThrow(/at 300 ms .*\n {2}FSREQPROMISE/su);
  });

  it('should name the real clock on which a loop was left', async () => {
    const forgotten = virtualTime(async (clock) => {
      const loop$ = of('a').pipe(reconcile(() => ({ requeueDelay: 10 }), {}));
      const loop = loop$.subscribe();
      try {
        await clock.advance(1000);
      } finally {
        loop.unsubscribe();
      }
    });
    await expect(forgotten).rejects.toThrow(/real world.*\n {2}Timeout/su);
  });

  it.each<[string, (clock: VirtualClock) => Promise<unknown>, RegExp]>([
    ['waits for the real world', () => setTimeout(5000), /real world, and at 0 ms .*Timeout/su],
    [
      'waits for virtual time',
      (clock) => clock.sleep(250),
      /waits for virtual time: the next timer is due at 250 ms, call `clock.advance`/,
    ],
    ['waits for nothing', () => new Promise(() => undefined), /will never come/],
  ])('should not hang if the body %s', async (_, body, message) => {
    await expect(virtualTime(body)).rejects.toThrow(message);
  });

  it('should not hang if there is no end of macrotasks', async () => {
    const endless = virtualTime(async (clock) => {
      const end = new AbortController();
      void (async () => {
        while (!end.signal.aborted) await setImmediate();
      })();
      await clock.advance(1).finally(() => {
        end.abort();
      });
    });
    await expect(endless).rejects.toThrow(/stands still at 0 ms: `setImmediate` is called again and again/);
  });

  it('should refuse bad times, and to advance twice at once', () =>
    virtualTime(async (clock) => {
      await expect(clock.advance(-1)).rejects.toThrow('Expected `ms` to be a finite number of ms >= 0, got `-1` (number)');
      await expect(clock.advance(Infinity)).rejects.toThrow('finite');
      expect(() => clock.sleep(NaN)).toThrow('Expected `ms`');
      const first = clock.advance(10);
      await expect(clock.advance(10)).rejects.toThrow('await each `advance` before the next');
      await first;
      expect(clock.now()).toBe(10);
    }));

  it('should refuse a body that is none', async () => {
    await expect(virtualTime(5 as unknown as () => Promise<void>)).rejects.toThrow('Expected `body` to be a function, got `5` (number)');
  });
});
