import { asyncScheduler, EMPTY, NEVER } from 'rxjs';
import { defaultHasher, reconcile, type ReconcileConfig, reconcileSettings } from 'kreconciler/operators';
import { describe, expect, it } from 'vitest';
import { checkFunction, checkScheduler } from '../../operators/check.js';
import { foreign } from '../support/foreign-observable.js';

const count = (least: number) => `an integer >= ${least} or Infinity`;
const fn = 'a function';
const ms = 'a number of ms >= 0';
const input = 'an Observable, promise or iterable';

describe('reconcileSettings', () => {
  it('should fill in the defaults', () => {
    const settings = reconcileSettings();
    expect(settings).toMatchObject({
      maxItemRetries: 10,
      workerQueueSize: 2000,
      workerHasher: defaultHasher,
      workerCount: 1,
      workerConcurrency: 1,
      concurrency: Infinity,
      delayResolution: 250,
      delayQueueSize: 1000,
      maxReconcileTime: 10_000,
      stop: NEVER,
      reset: NEVER,
      shutdownGrace: 30_000,
      scheduler: asyncScheduler,
    });
    expect(settings.workerName(0)).toBe('default');
  });

  it('should take `undefined` for the default', () => {
    const config = Object.fromEntries(Object.keys(reconcileSettings()).map((field) => [field, undefined])) as ReconcileConfig;
    const settings = reconcileSettings(config);
    const { workerName, backoff } = settings;
    expect(settings).toEqual({ ...reconcileSettings(), workerName, backoff });
    expect(workerName(0)).toBe('default');
    expect(backoff(1, undefined)).toBeGreaterThan(0);
  });

  it('should back off from `delayResolution` to a minute', () => {
    const { backoff } = reconcileSettings({ delayResolution: 1000 });
    for (let i = 0; i < 100; i++) {
      expect(Math.abs(backoff(1, undefined) - 1000)).toBeLessThanOrEqual(200);
      expect(backoff(50, undefined)).toBeGreaterThanOrEqual(48_000);
      expect(backoff(50, undefined)).toBeLessThanOrEqual(60_000);
    }
  });

  it('should bound the default backoff even if the resolution is longer', () => {
    expect(reconcileSettings({ delayResolution: 120_000 }).backoff(1, undefined)).toBeLessThanOrEqual(60_000);
  });

  it.each<[keyof ReconcileConfig, unknown]>([
    ['maxItemRetries', 0],
    ['maxItemRetries', Infinity],
    ['workerQueueSize', 1],
    ['workerQueueSize', Infinity],
    ['workerHasher', () => 0],
    ['workerCount', 1],
    ['workerCount', 64],
    ['workerConcurrency', 16],
    ['workerConcurrency', Infinity],
    ['concurrency', 1],
    ['concurrency', Infinity],
    ['workerName', () => 'x'],
    ['delayResolution', 0.5],
    ['delayQueueSize', 0],
    ['delayQueueSize', Infinity],
    ['maxReconcileTime', 0],
    ['maxReconcileTime', 1.5],
    ['maxReconcileTime', Infinity],
    ['backoff', () => 5],
    ['stop', EMPTY],
    ['stop', []],
    ['stop', foreign()],
    ['reset', new Promise(() => {})],
    ['shutdownGrace', 0],
    ['shutdownGrace', Infinity],
    ['scheduler', { now: () => 0, schedule: () => EMPTY.subscribe() }],
  ])('should take %s: %o', (field, value) => {
    expect(reconcileSettings({ [field]: value })[field]).toBe(value);
  });

  // prettier-ignore -- aligned
  it.each<[keyof ReconcileConfig, unknown, string, string]>([
    ['maxItemRetries', -1, count(0), '`-1` (number)'],
    ['maxItemRetries', 1.5, count(0), '`1.5` (number)'],
    ['maxItemRetries', NaN, count(0), '`NaN` (number)'],
    ['maxItemRetries', '3', count(0), '`3` (string)'],
    ['maxItemRetries', null, count(0), '`null`'],
    ['maxItemRetries', -Infinity, count(0), '`-Infinity` (number)'],
    ['workerQueueSize', 0, count(1), '`0` (number)'],
    ['workerQueueSize', 2.5, count(1), '`2.5` (number)'],
    ['workerQueueSize', 10n, count(1), '`10` (bigint)'],
    ['workerHasher', 'fnv', fn, '`fnv` (string)'],
    ['workerHasher', null, fn, '`null`'],
    ['workerConcurrency', 0, 'an integer >= 1 or Infinity', '`0` (number)'],
    ['workerConcurrency', 1.5, 'an integer >= 1 or Infinity', '`1.5` (number)'],
    ['concurrency', '8', 'an integer >= 1 or Infinity', '`8` (string)'],
    ['concurrency', -1, 'an integer >= 1 or Infinity', '`-1` (number)'],
    ['workerCount', 0, 'an integer >= 1', '`0` (number)'],
    ['workerCount', 1.5, 'an integer >= 1', '`1.5` (number)'],
    ['workerCount', Infinity, 'an integer >= 1', '`Infinity` (number)'],
    ['workerCount', '4', 'an integer >= 1', '`4` (string)'],
    ['workerName', 'dns', fn, '`dns` (string)'],
    ['delayResolution', 0, 'a finite number > 0', '`0` (number)'],
    ['delayResolution', -250, 'a finite number > 0', '`-250` (number)'],
    ['delayResolution', NaN, 'a finite number > 0', '`NaN` (number)'],
    ['delayResolution', Infinity, 'a finite number > 0', '`Infinity` (number)'],
    ['delayResolution', '250', 'a finite number > 0', '`250` (string)'],
    ['delayQueueSize', -1, count(0), '`-1` (number)'],
    ['delayQueueSize', 0.5, count(0), '`0.5` (number)'],
    ['maxReconcileTime', -1, ms, '`-1` (number)'],
    ['maxReconcileTime', NaN, ms, '`NaN` (number)'],
    ['maxReconcileTime', new Date(0), ms, '`"1970-01-01T00:00:00.000Z"` (object)'],
    ['shutdownGrace', -1, ms, '`-1` (number)'],
    ['shutdownGrace', '30s', ms, '`30s` (string)'],
    ['backoff', 250, fn, '`250` (number)'],
    ['backoff', null, fn, '`null`'],
    ['stop', 'now', input, '`now` (string)'],
    ['stop', () => NEVER, input, '`anonymous` (function)'],
    ['reset', true, input, '`true` (boolean)'],
    ['reset', null, input, '`null`'],
    ['scheduler', null, 'a scheduler', '`null`'],
    ['scheduler', {}, 'a scheduler', '`{}` (object)'],
    ['scheduler', { now: () => 0 }, 'a scheduler', '`{}` (object)'],
    ['scheduler', { schedule: () => EMPTY }, 'a scheduler', '`{}` (object)'],
  ])('should refuse %s: %s, and say so', (field, value, expectation, got) => {
    const message = `Expected \`${field}\` to be ${expectation}, got ${got}`;
    expect(() => reconcileSettings({ [field]: value })).toThrow(new TypeError(message));
    expect(() => reconcile(() => undefined, { [field]: value })).toThrow(new TypeError(message));
  });

  it.each([
    [null, '`null`'],
    ['fast', '`fast` (string)'],
    [5, '`5` (number)'],
  ])('should refuse to be configured with %j', (config, got) => {
    expect(() => reconcileSettings(config as ReconcileConfig)).toThrow(new TypeError(`Expected \`config\` to be an object, got ${got}`));
  });
});

it('should refuse a reconciler that is no function, at call time', () => {
  expect(() => reconcile({} as never)).toThrow(new TypeError('Expected `reconciler` to be a function, got `{}` (object)'));
});

it('should check single fields for others', () => {
  expect(() => checkFunction('list', 1)).toThrow('Expected `list` to be a function, got `1` (number)');
  expect(() => checkScheduler('scheduler', undefined)).toThrow('Expected `scheduler` to be a scheduler, got `undefined`');
  expect(() => {
    checkFunction('list', () => []);
    checkScheduler('scheduler', asyncScheduler);
  }).not.toThrow();
});
