import { AsyncResource } from 'node:async_hooks';
import { exec } from 'node:child_process';
import { generateKeyPairSync, randomBytes, randomUUID, scrypt, scryptSync } from 'node:crypto';
import { Resolver } from 'node:dns';
import { watch } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { reconcile, type ReconcileConfig, type Reconciler, type Step } from 'kreconciler/operators';
import { type VirtualClock, virtualTime } from 'kreconciler/testing';
import { createGzip, gunzipSync, gzip, gzipSync } from 'node:zlib';
import { config as rxConfig, delay, firstValueFrom, interval, of, Subject, take, timer, toArray } from 'rxjs';
import { describe, expect, it, onTestFinished } from 'vitest';

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

  describe('should not be put off by what waits for nothing:', () => {
    it.each<[string, () => unknown]>([
      ['randomUUID', () => randomUUID()],
      ['randomBytes', () => randomBytes(16)],
      ['scryptSync', () => scryptSync('password', 'salt', 16)],
      ['generateKeyPairSync', () => generateKeyPairSync('ec', { namedCurve: 'P-256' })],
      ['gzipSync', () => gunzipSync(gzipSync('text'))],
      ['an idle gzip stream', () => createGzip()],
      ['a timer without a reference', () => global.setTimeout(() => undefined, 5000).unref()],
      [
        'a timer that was cleared',
        () => {
          clearTimeout(global.setTimeout(() => undefined, 5000));
        },
      ],
      ['a timeout signal', () => AbortSignal.timeout(5000)],
      ['the standard output', () => process.stdout.write('')],
      [
        'the console',
        () => {
          console.log('a line');
        },
      ],
      ['a bound function', () => AsyncResource.bind(() => undefined)],
      ['a resolver', () => new Resolver()],
      ['a message channel', () => new MessageChannel()],
      [
        'a signal handler',
        () => {
          process.once('SIGUSR2', () => undefined).removeAllListeners('SIGUSR2');
        },
      ],
    ])('%s', (_, act) =>
      virtualTime(async (clock) => {
        const log = loop(clock, async () => {
          act();
          await clock.sleep(100);
        });
        await clock.advance(100);
        expect(log.at(-1)).toBe('100 succeeded');
      }),
    );
  });

  it.each<[string, () => (() => unknown) | void]>([
    [
      'Timeout',
      () => {
        const timer = global.setInterval(() => undefined, 5000);
        return () => {
          clearInterval(timer);
        };
      },
    ],
    [
      'SCRYPTREQUEST',
      () => {
        scrypt('password', 'salt', 16, () => undefined);
      },
    ],
    [
      'ZLIB',
      () => {
        gzip('text', () => undefined);
      },
    ],
    [
      'TCPSERVERWRAP',
      () => {
        const server = createServer().listen(0);
        return () => server.close();
      },
    ],
    [
      'PROCESSWRAP',
      () => {
        exec('true');
      },
    ],
    [
      'FSEVENTWRAP',
      () => {
        const watcher = watch('.');
        return () => {
          watcher.close();
        };
      },
    ],
  ])('should name what keeps a process alive: %s', async (kind, act) => {
    const waiting = virtualTime(async (clock) => {
      loop(clock, async () => {
        const end = act();
        if (end !== undefined) onTestFinished(() => void end());
        await clock.sleep(100);
      });
      await clock.advance(100);
    });
    await expect(waiting).rejects.toThrow(new RegExp(`real world, .*\\n {2}${kind} at .*virtual-time\\.spec`, 'su'));
  });

  it('should say what to do instead', async () => {
    const waiting = virtualTime(() => setTimeout(5000));
    await expect(waiting).rejects.toThrow('Use `clock.sleep`, and give `clock.scheduler` to whatever takes a scheduler');
  });

  describe('should reject with what an observer has thrown', () => {
    const wrong = () => {
      throw new Error('an assertion');
    };

    it('while time advances', async () => {
      const failing = virtualTime(async (clock) => {
        timer(10, clock.scheduler).subscribe(wrong);
        await clock.advance(20);
      });
      await expect(failing).rejects.toThrow('an assertion');
    });

    it('in the end', async () => {
      const failing = virtualTime(async () => {
        of('value').subscribe(wrong);
      });
      await expect(failing).rejects.toThrow('an assertion');
    });

    it('while the body waits', async () => {
      const failing = virtualTime(async () => {
        of('value').subscribe(wrong);
        await new Promise(() => undefined);
      });
      await expect(failing).rejects.toThrow('an assertion');
    });

    it('of the steps of a loop', async () => {
      const failing = virtualTime(async (clock) => {
        of('web')
          .pipe(reconcile(() => clock.sleep(10), { scheduler: clock.scheduler }))
          .subscribe(({ kind }) => {
            expect(kind).not.toBe('succeeded');
          });
        await clock.advance(1000);
      });
      await expect(failing).rejects.toThrow(/expected 'succeeded' not to be 'succeeded'/);
    });

    it('but for those who handle that themselves', async () => {
      const handled: unknown[] = [];
      rxConfig.onUnhandledError = (error) => handled.push(error);
      onTestFinished(() => {
        rxConfig.onUnhandledError = null;
      });
      await virtualTime(async (clock) => {
        timer(10, clock.scheduler).subscribe(wrong);
        await clock.advance(20);
      });
      expect(handled).toEqual([new Error('an assertion')]);
      expect(rxConfig.onUnhandledError).not.toBeNull();
    });

    it('and leave no handler behind', async () => {
      await Promise.allSettled([virtualTime(async () => 5), virtualTime(wrong)]);
      expect(rxConfig.onUnhandledError).toBeNull();
    });

    it('and not for what another test has thrown', async () => {
      const events = new Subject<string>();
      const failing = virtualTime(async () => {
        events.subscribe(wrong);
        events.next('value');
      });
      const [first, second] = await Promise.allSettled([failing, virtualTime(async (clock) => clock.advance(1000))]);
      expect([first.status, second.status]).toEqual(['rejected', 'fulfilled']);
    });
  });

  describe('should wait for another that runs inside', () => {
    it('its body', async () => {
      const value = virtualTime(async (outer) => {
        const inner = await virtualTime(async (clock) => {
          await clock.advance(5000);
          return clock.now();
        });
        await outer.advance(10);
        return inner + outer.now();
      });
      await expect(value).resolves.toBe(5010);
    });

    it('and say so if that waits for it', async () => {
      const waiting = virtualTime(async (outer) => {
        await virtualTime(async (clock) => {
          loop(clock, () => outer.sleep(10));
          await clock.advance(20);
        });
      });
      await expect(waiting).rejects.toThrow(/`sleep` of another `virtualTime`, around this one at .*virtual-time\.spec/);
    });
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
