import vm from 'node:vm';
import { describe, expect, it } from 'vitest';
import { describeError, failed } from '../../lib/describe-error.js';

/** Throws whatever is done to it. */
const hostile = Proxy.revocable({}, {});
hostile.revoke();

const halfHostile = {
  get name(): string {
    throw new Error('no name');
  },
  message: 'disk full',
};

describe('describeError', () => {
  it.each<[what: string, error: unknown, name: string, message: string]>([
    ['an Error', new RangeError('too far'), 'RangeError', 'too far'],
    ['an Error of another realm', vm.runInNewContext('new TypeError("disk full")'), 'TypeError', 'disk full'],
    ['an Error without a message', new Error(), 'Error', ''],
    ['a string', 'boom', 'Error', 'boom'],
    ['undefined', undefined, 'Error', 'undefined'],
    ['null', null, 'Error', 'null'],
    ['a symbol', Symbol('odd'), 'Error', 'Symbol(odd)'],
    ['a bigint', 5n, 'Error', '5'],
    ['an object without a prototype', Object.create(null), 'Error', '`{}` (object)'],
    ['an object of another kind', { code: 7 }, 'Error', '`{"code":7}` (object)'],
    ['an object whose message is none', { message: 7 }, 'Error', '`{"message":7}` (object)'],
    ['an object with a getter that throws', halfHostile, 'Error', 'disk full'],
    ['a revoked proxy', hostile.proxy, 'Error', '`…` (object)'],
    ['a function', () => undefined, '', '`anonymous` (function)'],
  ])('should describe %s', (_, error, name, message) => {
    expect(describeError(error)).toEqual({ name, message });
  });

  it('should name what failed, with the very error as its cause', () => {
    const error = failed('The leader source', hostile.proxy);
    expect(error.message).toBe('The leader source failed: `…` (object)');
    expect(error.cause === hostile.proxy).toBe(true);
  });
});
