import { RetryError, TerminalError } from 'kreconciler/operators';
import { describe, expect, it } from 'vitest';
import { isTerminal, retryDelayOf } from '../../operators/errors.js';
import { isDelay } from '../../operators/check.js';

const TERMINAL = Symbol.for('kreconciler.terminal');
const wrapped = (cause: unknown) => new Error('outer', { cause });
const chain = (length: number, end: unknown): unknown => (length === 0 ? end : { cause: chain(length - 1, end) });

function circular(): Error {
  const error = new Error('I am why');
  error.cause = error;
  return error;
}

const throwing = {
  get retryDelay(): number {
    throw new Error('hands off');
  },
  get [TERMINAL](): boolean {
    throw new Error('hands off');
  },
};

const untouchable = new Proxy(
  {},
  {
    get: () => {
      throw new Error('hands off');
    },
  },
);

const { proxy: revoked, revoke } = Proxy.revocable({}, {});
revoke();

/** By name, because not even a test runner can print them. */
const hostile: Readonly<Record<string, unknown>> = {
  'a circular cause': circular(),
  'a getter that throws': throwing,
  'a proxy that throws': untouchable,
  'a revoked proxy': revoked,
  'a cause that throws': wrapped(untouchable),
};

it.each(Object.keys(hostile))('B1 should learn nothing from an error that is or has %s, and not throw', (name) => {
  expect(retryDelayOf(hostile[name])).toBeUndefined();
  expect(isTerminal(hostile[name])).toBe(false);
});

describe('RetryError', () => {
  it('should be an error with a name, a delay and a cause', () => {
    const cause = new Error('429');
    const error = new RetryError('rate limited', 30_000, { cause });
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({ name: 'RetryError', message: 'rate limited', retryDelay: 30_000, cause });
    expect(String(error)).toBe('RetryError: rate limited');
    expect('cause' in new RetryError('none', 1)).toBe(false);
  });
});

describe('TerminalError', () => {
  it('should be an error with a name, a mark and a cause', () => {
    const cause = new Error('404');
    const error = new TerminalError('no such account', { cause });
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({ name: 'TerminalError', message: 'no such account', cause, [TERMINAL]: true });
  });
});

describe('R2: the `retryDelay` of an error', () => {
  it.each<[string, unknown, number | undefined]>([
    ['a RetryError', new RetryError('later', 500), 500],
    ['a RetryError without delay', new RetryError('now', 0), 0],
    ['any error with the field', Object.assign(new Error('later'), { retryDelay: 20 }), 20],
    ['no error at all, with the field', { retryDelay: 20 }, 20],
    ['the cause', wrapped(new RetryError('later', 500)), 500],
    ['the cause of the cause', wrapped(wrapped({ retryDelay: 5 })), 5],
    ['the outer of two', new RetryError('outer', 1, { cause: new RetryError('inner', 2) }), 1],
    ['the inner where the outer is invalid', new RetryError('outer', NaN, { cause: new RetryError('inner', 2) }), 2],
    ['the last link that is looked at', chain(15, { retryDelay: 7 }), 7],
    ['nothing beyond it', chain(16, { retryDelay: 7 }), undefined],
    ['an error that inherits the field', Object.create(new RetryError('later', 500)), 500],
    ['a plain error', new Error('broken'), undefined],
    ['a NaN', { retryDelay: NaN }, undefined],
    ['an infinite one', { retryDelay: Infinity }, undefined],
    ['a negative one', { retryDelay: -1 }, undefined],
    ['a string', { retryDelay: '500' }, undefined],
    ['a bigint', { retryDelay: 500n }, undefined],
    ['a Date', { retryDelay: new Date(500) }, undefined],
    ['undefined', undefined, undefined],
    ['null', null, undefined],
    ['a string, thrown', 'broken', undefined],
    ['a number, thrown', 500, undefined],
    ['a symbol, thrown', Symbol('broken'), undefined],
    ['a function, thrown', Object.assign(() => 1, { retryDelay: 500 }), undefined],
  ])('R2 should find the delay of %s', (_name, error, delay) => {
    expect(retryDelayOf(error)).toBe(delay);
  });
});

describe('R2: whether no retry can mend it', () => {
  it.each<[string, unknown, boolean]>([
    ['a TerminalError', new TerminalError('no'), true],
    ['a foreign error with the mark', Object.assign(new Error('no'), { [TERMINAL]: true }), true],
    ['no error at all, with the mark', { [TERMINAL]: true }, true],
    ['one with a terminal cause', wrapped(new TerminalError('no')), true],
    ['a RetryError with a terminal cause', new RetryError('later', 5, { cause: new TerminalError('no') }), true],
    ['one whose mark says false', { [TERMINAL]: false }, false],
    ['one whose mark says false, with a terminal cause', { [TERMINAL]: false, cause: new TerminalError('no') }, true],
    ['one with another mark', { [Symbol('kreconciler.terminal')]: true }, false],
    ['a plain error', new Error('broken'), false],
    ['one with the name only', Object.assign(new Error('no'), { name: 'TerminalError' }), false],
    ['undefined', undefined, false],
    ['null', null, false],
    ['a string, thrown', 'broken', false],
  ])('R2 should say so of %s', (_name, error, terminal) => {
    expect(isTerminal(error)).toBe(terminal);
  });
});

it.each([
  [0, true],
  [0.5, true],
  [Number.MAX_VALUE, true],
  [-0, true],
  [-1, false],
  [NaN, false],
  [Infinity, false],
  [-Infinity, false],
  ['1', false],
  [1n, false],
  [null, false],
  [undefined, false],
  [new Date(1), false],
])('T3 should know whether %o can be waited for: %s', (value, holds) => {
  expect(isDelay(value)).toBe(holds);
});
