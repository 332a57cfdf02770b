import { describe, expect, it } from 'vitest';
import { script } from '../support/script.js';

const loopThatEnds = script('loop-that-ends');

describe.concurrent('P3: nothing is left that keeps Node alive', () => {
  it.each([
    // [how it ends, what the subscriber hears]
    ['stop', ['complete']],
    ['stop later', ['complete']],
    ['error', ['error source']],
    ['unsubscribe', []],
    ['unsubscribe later', []],
    ['reset and unsubscribe', []],
    ['reset and complete', ['complete']],
    ['complete with a pending promise', ['complete']],
    ['complete with a waiting id', ['complete']],
    ['start and stop at once', ['complete']],
    ['start and unsubscribe at once', []],
    ['start and complete at once', ['complete']],
    ['a stop that fired before', ['complete']],
    ['take one', []],
    ['a rejection after the end', []],
    ['idle', []],
  ])(
    'P3 should let the process exit by itself, with no unhandled rejection: %s',
    async (ending, told) => {
      const { stdout, stderr } = await loopThatEnds([ending]);
      expect(stderr).toBe('');
      const seen = stdout.trimEnd().split('\n');
      const steps = JSON.parse(seen.pop()!) as string[];
      expect(seen).toEqual(told);
      if (ending === 'stop' || ending === 'error') {
        expect(steps.filter((step) => step.startsWith('dropped')).sort()).toEqual([
          'dropped fails',
          'dropped hangs',
          'dropped idles',
          'dropped ready',
          'dropped waits',
        ]);
      }
      if (ending.includes('at once')) expect(steps).toEqual([]);
    },
    60_000,
  );
});
