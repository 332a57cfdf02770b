import type * as kit from 'kreconciler/testing';
import { describe, expect, it, onTestFinished, vi } from 'vitest';

/** Imports the kit anew while the timers are fake, as a setup file of a project may have made them. */
async function importWithFakeTimers(): Promise<typeof kit> {
  vi.useFakeTimers({ toFake: ['setTimeout', 'setInterval', 'setImmediate', 'nextTick', 'queueMicrotask', 'Date', 'performance'] });
  onTestFinished(() => {
    vi.useRealTimers();
    vi.resetModules();
  });
  vi.resetModules();
  return import('kreconciler/testing');
}

describe('the testing kit, imported after fake timers were installed', () => {
  it('should run a body in virtual time', async () => {
    const { virtualTime } = await importWithFakeTimers();
    const now = await virtualTime(async ({ advance, sleep, now }) => {
      const asleep = sleep(1000);
      await advance(1000);
      await asleep;
      return now();
    });
    expect(now).toBe(1000);
  });

  it('should simulate, and say what a reconciler must not wait for', async () => {
    const { simulate } = await importWithFakeTimers();
    const simulated = simulate({
      world: () => ({}),
      changes: { change: () => undefined },
      streams: { watch: { on: ['change'], list: () => ['web'] } },
      reconciler: () => () => new Promise<void>(() => undefined),
      converged: () => true,
    });
    await expect(simulated).rejects.toThrow('neither `read`, `effect` nor `sleep`');
  });
});
