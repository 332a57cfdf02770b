import { describe, expect, it } from 'vitest';
import { check } from '../../operators/check.js';
import { shown } from '../../operators/shown.js';

const throwing = {
  toJSON: () => {
    throw new Error('hands off');
  },
};

const circular: { self?: unknown } = {};
circular.self = circular;

describe('check', () => {
  it('should do nothing where it holds', () => {
    expect(() => check('workerCount', 1, 'an integer >= 1', true)).not.toThrow();
  });

  it('should name the field, what was expected and what came', () => {
    expect(() => check('workerCount', 0, 'an integer >= 1', false)).toThrow(
      new TypeError('Expected `workerCount` to be an integer >= 1, got `0` (number)'),
    );
  });
});

describe('shown', () => {
  it.each<[unknown, string]>([
    [undefined, '`undefined`'],
    [null, '`null`'],
    [0, '`0` (number)'],
    [-0, '`0` (number)'],
    [NaN, '`NaN` (number)'],
    [true, '`true` (boolean)'],
    ['', '`` (string)'],
    ['x', '`x` (string)'],
    [5n, '`5` (bigint)'],
    [Symbol('s'), '`Symbol(s)` (symbol)'],
    [{ a: 1 }, '`{"a":1}` (object)'],
    [[1, 2], '`[1,2]` (object)'],
    [function named() {}, '`named` (function)'],
    [() => undefined, '`anonymous` (function)'],
    ['y'.repeat(100), `\`${'y'.repeat(100)}\` (string)`],
    ['y'.repeat(101), `\`${'y'.repeat(100)}…\` (string)`],
    [circular, '`…` (object)'],
    [throwing, '`…` (object)'],
    [{ toJSON: () => undefined }, '`…` (object)'],
    [{ n: 5n }, '`…` (object)'],
  ])('should show it as %2$s: %#', (value, text) => {
    expect(shown(value)).toBe(text);
  });

  it('should never throw, not even where a proxy does, or was revoked', () => {
    const no = (): never => {
      throw new Error('hands off');
    };
    const proxy = Proxy.revocable({}, {});
    proxy.revoke();
    expect(shown(new Proxy({}, { get: no, ownKeys: no, getOwnPropertyDescriptor: no }))).toBe('`…` (object)');
    expect(shown(proxy.proxy)).toBe('`…` (object)');
    expect(shown(new Proxy(() => 1, { get: no }))).toBe('`…` (function)');
  });
});
