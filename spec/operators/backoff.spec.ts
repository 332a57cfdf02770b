import fc from 'fast-check';
import { constant, exponential } from 'kreconciler/operators';
import { describe, expect, it, vi } from 'vitest';

const error = new Error('broken');

describe('exponential', () => {
  it('should double from `initial` up to `max`', () => {
    const backoff = exponential({ initial: 250, max: 5000, jitter: 0 });
    expect([1, 2, 3, 4, 5, 6, 7].map((failures) => backoff(failures, error))).toEqual([250, 500, 1000, 2000, 4000, 5000, 5000]);
  });

  it('should stop at a minute unless told otherwise', () => {
    expect(exponential({ initial: 250, jitter: 0 })(20, error)).toBe(60_000);
  });

  it('should multiply by `factor`', () => {
    const backoff = exponential({ initial: 100, factor: 3, jitter: 0 });
    expect([1, 2, 3].map((failures) => backoff(failures, error))).toEqual([100, 300, 900]);
    expect(exponential({ initial: 100, factor: 1, jitter: 0 })(50, error)).toBe(100);
  });

  // prettier-ignore -- aligned
  it.each([
    { random: 0, delay: 800 },
    { random: 0.25, delay: 900 },
    { random: 0.5, delay: 1000 },
    { random: 0.75, delay: 1100 },
    { random: 1, delay: 1200 },
  ])('should spread 1000 ms by the default jitter to $delay where `random` says $random', ({ random, delay }) => {
    expect(exponential({ initial: 1000, random: () => random })(1, error)).toBeCloseTo(delay, 6);
  });

  it('should bound the value after jitter by `max`', () => {
    expect(exponential({ initial: 1000, max: 1100, random: () => 1 })(1, error)).toBe(1100);
    expect(exponential({ initial: 1000, max: 1000, random: () => 0 })(5, error)).toBe(800);
  });

  it('should take `Math.random` unless given another', () => {
    const random = vi.spyOn(Math, 'random').mockReturnValue(0);
    expect(exponential({ initial: 1000 })(1, error)).toBe(800);
    expect(random).toHaveBeenCalledOnce();
  });

  it('should take `undefined` for the default', () => {
    const config = { initial: 100, factor: undefined, max: undefined, jitter: undefined, random: undefined };
    expect(exponential(config)(2, error)).toBeGreaterThanOrEqual(160);
    expect(exponential(config)(2, error)).toBeLessThanOrEqual(240);
  });

  const unit = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
  const configs = fc.record({
    initial: fc.oneof(fc.nat(100_000), fc.double({ min: 0, max: 1e300, noNaN: true })),
    factor: fc.double({ min: 1, max: 1e6, noNaN: true }),
    max: fc.oneof(fc.nat(1e6), fc.constant(Infinity)),
    jitter: fc.double({ min: 0, max: 1, noNaN: true }),
  });

  it('should answer a finite number from 0 to `max`, however often it fails', () => {
    fc.assert(
      fc.property(configs, unit, fc.integer({ min: 1, max: 100_000 }), (config, random, failures) => {
        const delay = exponential({ ...config, random: () => random })(failures, error);
        expect(Number.isFinite(delay)).toBe(true);
        expect(delay).toBeGreaterThanOrEqual(0);
        expect(delay).toBeLessThanOrEqual(config.max);
      }),
      { numRuns: 1000 },
    );
  });

  it('should stay within `jitter` of the plain delay', () => {
    fc.assert(
      fc.property(configs, unit, fc.integer({ min: 1, max: 50 }), (config, random, failures) => {
        const plain = exponential({ ...config, jitter: 0 })(failures, error);
        const delay = exponential({ ...config, random: () => random })(failures, error);
        expect(Math.abs(delay - plain)).toBeLessThanOrEqual(plain * (config.jitter + 1e-9) + 1e-9);
      }),
      { numRuns: 1000 },
    );
  });

  it('should never wait less after one more failure', () => {
    fc.assert(
      fc.property(configs, fc.integer({ min: 1, max: 2000 }), (config, failures) => {
        const backoff = exponential({ ...config, jitter: 0 });
        expect(backoff(failures + 1, error)).toBeGreaterThanOrEqual(backoff(failures, error) * (1 - 1e-9));
      }),
      { numRuns: 1000 },
    );
  });

  it('should answer the same again with the same seed', () => {
    const seeded = (seed: number) => () => (seed = (seed * 16_807) % 2_147_483_647) / 2_147_483_647;
    const delays = (random: () => number) => [1, 2, 3, 4, 5].map((failures) => exponential({ initial: 250, random })(failures, error));
    expect(delays(seeded(7))).toEqual(delays(seeded(7)));
    expect(delays(seeded(7))).not.toEqual(delays(seeded(8)));
  });

  // prettier-ignore -- aligned
  it.each<[string, unknown, string]>([
    ['initial', undefined, 'Expected `initial` to be a finite number >= 0, got `undefined`'],
    ['initial', -1, 'Expected `initial` to be a finite number >= 0, got `-1` (number)'],
    ['initial', NaN, 'Expected `initial` to be a finite number >= 0, got `NaN` (number)'],
    ['initial', Infinity, 'Expected `initial` to be a finite number >= 0, got `Infinity` (number)'],
    ['initial', '250', 'Expected `initial` to be a finite number >= 0, got `250` (string)'],
    ['factor', 0.9, 'Expected `factor` to be a finite number >= 1, got `0.9` (number)'],
    ['factor', Infinity, 'Expected `factor` to be a finite number >= 1, got `Infinity` (number)'],
    ['max', -1, 'Expected `max` to be a number >= 0, got `-1` (number)'],
    ['max', NaN, 'Expected `max` to be a number >= 0, got `NaN` (number)'],
    ['jitter', -0.1, 'Expected `jitter` to be a number from 0 to 1, got `-0.1` (number)'],
    ['jitter', 1.1, 'Expected `jitter` to be a number from 0 to 1, got `1.1` (number)'],
    ['jitter', null, 'Expected `jitter` to be a number from 0 to 1, got `null`'],
    ['random', 0.5, 'Expected `random` to be a function, got `0.5` (number)'],
  ])('should refuse %s: %j', (field, value, message) => {
    expect(() => exponential({ initial: 100, [field]: value })).toThrow(new TypeError(message));
  });

  it.each([undefined, null])('should refuse a configuration that is %s', (config) => {
    expect(() => exponential(config as never)).toThrow(new TypeError(`Expected \`config\` to be an object, got \`${String(config)}\``));
  });

  it.each([
    { initial: 0 },
    { initial: 1, factor: 1 },
    { initial: 1, max: 0 },
    { initial: 1, max: Infinity },
    { initial: 1, jitter: 0 },
    { initial: 1, jitter: 1 },
  ])('should take %j', (config) => {
    expect(() => exponential(config)).not.toThrow();
  });
});

describe('constant', () => {
  it('should wait the same after every failure', () => {
    expect([1, 2, 30].map((failures) => constant(700)(failures, error))).toEqual([700, 700, 700]);
    expect(constant(0)(1, error)).toBe(0);
  });

  it.each([
    [-1, '`-1` (number)'],
    [NaN, '`NaN` (number)'],
    [Infinity, '`Infinity` (number)'],
    [undefined, '`undefined`'],
  ])('should refuse %j', (ms, got) => {
    expect(() => constant(ms as number)).toThrow(new TypeError(`Expected \`ms\` to be a finite number >= 0, got ${got}`));
  });
});
