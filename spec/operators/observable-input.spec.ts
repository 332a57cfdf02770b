import { from, lastValueFrom, NEVER, type ObservableInput, Subject } from 'rxjs';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { isAsyncIterable, isObservableInput, isObservableLike, isPromiseLike } from '../../operators/observable-input.js';
import { foreign } from '../support/foreign-observable.js';

async function* generated(): AsyncGenerator<string> {
  yield 'x';
}

describe('isObservableInput', () => {
  it.each<[string, unknown]>([
    ['an Observable', NEVER],
    ['a Subject', new Subject()],
    ['B5: an Observable of another copy of rxjs', foreign('x')],
    ['a promise', Promise.resolve()],
    ['a thenable', { then: () => undefined }],
    ['an async generator', generated()],
    ['an array', ['x']],
    ['a Set', new Set()],
    ['a web stream', new ReadableStream()],
    ['a function with an Observable side', Object.assign(() => 1, { '@@observable': () => NEVER })],
  ])('should take %s', (_name, value) => {
    expect(isObservableInput(value)).toBe(true);
  });

  it.each<[string, unknown]>([
    ['a string, though it is iterable', 'x'],
    ['a number', 5],
    ['a function', () => NEVER],
    ['an object', {}],
    ['an object whose `then` is no function', { then: true }],
    ['an object whose `subscribe` says nothing of rxjs', { subscribe: () => undefined }],
    ['undefined', undefined],
    ['null', null],
    ['a symbol', Symbol.iterator],
  ])('should refuse %s', (_name, value) => {
    expect(isObservableInput(value)).toBe(false);
  });

  it.each<[string, ObservableInput<string>]>([
    ['of another copy of rxjs', foreign('x')],
    ['that is an async generator', generated()],
    [
      'that is a web stream',
      new ReadableStream<string>({
        start: (sink) => {
          sink.enqueue('x');
          sink.close();
        },
      }),
    ],
  ])('B5 should know what `from` takes too: one %s', async (_name, value) => {
    await expect(lastValueFrom(from(value))).resolves.toBe('x');
  });
});

describe('where somebody has defined `Symbol.observable`', () => {
  const side = Symbol('observable');

  afterEach(() => {
    Reflect.deleteProperty(Symbol, 'observable');
    // Nobody else shall import the modules that have seen it.
    vi.resetModules();
  });

  it('B5 should know an Observable by the symbol, and by the string as before', async () => {
    Object.defineProperty(Symbol, 'observable', { value: side, configurable: true });
    vi.resetModules();
    const { isObservableInput } = await import('../../operators/observable-input.js');
    expect(isObservableInput({ [side]: () => NEVER })).toBe(true);
    expect(isObservableInput(foreign('x'))).toBe(true);
    expect(isObservableInput({ [Symbol('another')]: () => NEVER })).toBe(false);
  });
});

it.each<[string, (value: unknown) => boolean, unknown]>([
  ['a promise', isPromiseLike, Promise.resolve()],
  ['an async iterable', isAsyncIterable, generated()],
  ['an Observable', isObservableLike, NEVER],
  ['an Observable of another copy', isObservableLike, foreign('x')],
  ['a web stream', isObservableLike, new ReadableStream()],
])('should know %s, and no array, for what it is', (_name, is, value) => {
  expect(is(value)).toBe(true);
  expect(is(['x'])).toBe(false);
  expect(is(null)).toBe(false);
  expect(is('x')).toBe(false);
});
