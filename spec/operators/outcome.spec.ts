import { runInNewContext } from 'node:vm';
import { EMPTY } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { outcomeOf } from '../../operators/outcome.js';
import { foreign } from '../support/foreign-observable.js';

const error = new Error('broken');
const odd = (shown: string) => `Expected a reconciler to answer nothing or a Result ({ requeueDelay?, error? }), got ${shown}`;
const delay = (shown: string) => `Expected \`requeueDelay\` to be a finite number of ms >= 0, got ${shown}`;

describe('what a reconciler answers', () => {
  it.each<[unknown, number]>([
    [undefined, 0],
    [null, 0],
    [{}, 0],
    [{ requeueDelay: undefined }, 0],
    [{ requeueDelay: 0 }, 0],
    [{ requeueDelay: 0.5 }, 0.5],
    [{ requeueDelay: 60_000 }, 60_000],
    [{ requeueDelay: 2 ** 40 }, 2 ** 40],
    [{ error: undefined }, 0],
    [{ error: undefined, requeueDelay: 5 }, 5],
    [{ error: null }, 0],
    [{ data: [1], error: null }, 0],
    [{ error: null, requeueDelay: 5 }, 5],
    [runInNewContext('({ requeueDelay: 5 })'), 5],
    [runInNewContext('Object.create(null)'), 0],
    [{ somethingElse: 1 }, 0],
    [Object.create(null), 0],
  ])('R1, T3 should take %o for a success that asks for %d', (answer, requeueDelay) => {
    expect(outcomeOf(answer)).toStrictEqual({ requeueDelay });
  });

  it.each<[unknown, unknown]>([
    [{ error }, error],
    [{ error: false }, false],
    [{ error: '' }, ''],
    [{ error, requeueDelay: 5 }, error],
    [{ error, requeueDelay: NaN }, error],
  ])('R1 should take %o for a failure, which wins over a `requeueDelay`', (answer, reported) => {
    expect(outcomeOf(answer)).toStrictEqual({ failure: 'reported', error: reported });
  });

  it.each<[unknown, string]>([
    ['x', odd('`x` (string)')],
    ['', odd('`` (string)')],
    [5, odd('`5` (number)')],
    [0, odd('`0` (number)')],
    [true, odd('`true` (boolean)')],
    [false, odd('`false` (boolean)')],
    [5n, odd('`5` (bigint)')],
    [Symbol('x'), odd('`Symbol(x)` (symbol)')],
    [() => undefined, odd('`anonymous` (function)')],
    [[], odd('`[]` (object)')],
    [[{ requeueDelay: 5 }], odd('`[{"requeueDelay":5}]` (object)')],
    [error, odd('`{}` (object)')],
    [Promise.resolve(), odd('`{}` (object)')],
    [foreign(1), odd('`{}` (object)')],
    [{ requeueDelay: NaN }, delay('`NaN` (number)')],
    [{ requeueDelay: Infinity }, delay('`Infinity` (number)')],
    [{ requeueDelay: -Infinity }, delay('`-Infinity` (number)')],
    [{ requeueDelay: -1 }, delay('`-1` (number)')],
    [{ requeueDelay: '5' }, delay('`5` (string)')],
    [{ requeueDelay: null }, delay('`null`')],
    [{ requeueDelay: 5n }, delay('`5` (bigint)')],
  ])('R1, T3 should take %s for a failure: invalid', (answer, message) => {
    expect(outcomeOf(answer)).toEqual({ failure: 'invalid', error: new TypeError(message) });
  });

  it.each<[string, unknown]>([
    ['an Error of another realm', runInNewContext('new Error("disk full")')],
    ['an Error that hides what it is', Object.setPrototypeOf(new Error('disk full'), Object.prototype)],
    ['a DOMException', new DOMException('disk full')],
    ['a class instance', new AbortController()],
    [
      'a class instance with an error',
      new (class Answer {
        error = error;
      })(),
    ],
    ['a class instance of another realm', runInNewContext('new (class Answer {})')],
    ['an object that inherits', Object.create({ requeueDelay: 5 })],
    ['a Map', new Map()],
    ['a Set', new Set()],
    ['a Date', new Date(0)],
    ['a regular expression', /x/],
    ['a Buffer', Buffer.from('')],
    ['a boxed string', new String('x')],
    ['a function', async () => undefined],
    ['a class', AbortController],
    ['an iterable', { *[Symbol.iterator]() {} }],
    ['a Response', new Response()],
    ['a module', Object.assign(Object.create(null), { [Symbol.toStringTag]: 'Module' })],
    ['an Observable', EMPTY],
    ['an async iterable', { [Symbol.asyncIterator]: () => undefined }],
    ['a web stream', new ReadableStream()],
  ])('R1 should not take %s within an answer for "done"', (_name, answer) => {
    expect(outcomeOf(answer)).toMatchObject({ failure: 'invalid' });
  });

  it('B1 should take an answer that cannot be read for a failure: invalid, with the error of reading it', () => {
    const throwing = {
      get error(): never {
        throw error;
      },
    };
    expect(outcomeOf(throwing)).toStrictEqual({ failure: 'invalid', error });
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    expect(outcomeOf(proxy)).toMatchObject({ failure: 'invalid' });
  });
});
