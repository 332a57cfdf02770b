import { EventEmitter, on } from 'node:events';
import { lastValueFrom, NEVER, type ObservableInput, of, take, toArray } from 'rxjs';
import { describe, expect, it, vi } from 'vitest';
import { fromInput } from '../../lib/from-input.js';
import { deferred } from '../support/deferred.js';
import { foreign } from '../support/foreign-observable.js';

const chunks = (...values: string[]): ReadableStream<string> =>
  new ReadableStream({
    start: (controller) => {
      for (const value of values) controller.enqueue(value);
      controller.close();
    },
  });

describe('fromInput', () => {
  it.each<[string, ObservableInput<string>]>([
    ['an Observable', of('first', 'second')],
    ['an Observable of another copy of rxjs', foreign('first', 'second')],
    ['an array', ['first', 'second']],
    ['a set', new Set(['first', 'second'])],
    [
      'an async generator',
      (async function* () {
        yield 'first';
        yield 'second';
      })(),
    ],
    ['a web stream', chunks('first', 'second') as never],
  ])('should emit the values of %s', async (_, input) => {
    expect(await lastValueFrom(fromInput(input).pipe(toArray()))).toEqual(['first', 'second']);
  });

  it('should emit what a promise is fulfilled with, and fail as it is rejected', async () => {
    await expect(lastValueFrom(fromInput(Promise.resolve('only'), vi.fn()))).resolves.toBe('only');
    await expect(lastValueFrom(fromInput(Promise.reject(new Error('no')), vi.fn()))).rejects.toThrow('no');
  });

  it('should fail as an async iterator does, and not close what has ended by itself', async () => {
    const close = vi.fn();
    const iterator = { next: () => Promise.reject(new Error('no')), return: close };
    await expect(lastValueFrom(fromInput({ [Symbol.asyncIterator]: () => iterator }))).rejects.toThrow('no');
    expect(close).not.toHaveBeenCalled();
  });

  it('F5 should close an async iterator at once when it is let go, though it awaits a value', () => {
    const emitter = new EventEmitter();
    for (let term = 1; term <= 15; term++) {
      const subscription = fromInput(on(emitter, 'change')).subscribe();
      expect(emitter.listenerCount('change')).toBe(1);
      subscription.unsubscribe();
      expect(emitter.listenerCount('change')).toBe(0);
    }
  });

  it('F5 should close an async iterator that is let go while it delivers', async () => {
    const close = vi.fn(() => Promise.resolve({ done: true as const, value: undefined }));
    const iterator = { next: () => Promise.resolve({ done: false, value: 'again' }), return: close };
    await lastValueFrom(fromInput({ [Symbol.asyncIterator]: () => iterator }).pipe(take(2)));
    expect(close).toHaveBeenCalledOnce();
  });

  it('F5 should cancel a web stream at once when it is let go, though it awaits a chunk', () => {
    const cancel = vi.fn();
    fromInput<string>(new ReadableStream({ cancel }) as never)
      .subscribe()
      .unsubscribe();
    expect(cancel).toHaveBeenCalledOnce();
  });

  it.each<[string, () => Promise<never>]>([
    ['rejects', () => Promise.reject(new Error('no'))],
    [
      'throws',
      () => {
        throw new Error('no');
      },
    ],
  ])('should leave no rejection behind when closing %s', async (_, close) => {
    const iterator = { next: () => new Promise<never>(() => undefined), return: close };
    fromInput({ [Symbol.asyncIterator]: () => iterator })
      .subscribe()
      .unsubscribe();
    // An unhandled rejection would fail the suite.
    await new Promise(setImmediate);
  });

  it('F3 should hand over the promise that goes on after it was let go, until it has settled', async () => {
    const open = deferred<string>();
    const rests: Promise<unknown>[] = [];
    fromInput(open.promise, (rest) => rests.push(rest))
      .subscribe()
      .unsubscribe();
    expect(rests).toHaveLength(1);
    let settled = false;
    void rests[0]?.then(() => (settled = true));
    await new Promise(setImmediate);
    expect(settled).toBe(false);
    open.resolve('late');
    await new Promise(setImmediate);
    expect(settled).toBe(true);
  });

  it('F3 should hand over an async generator that is stuck in what it awaits', async () => {
    const stuck = deferred();
    const rests: Promise<unknown>[] = [];
    async function* ids(): AsyncGenerator<string> {
      await stuck.promise;
      yield 'late';
    }
    fromInput(ids(), (rest) => rests.push(rest))
      .subscribe()
      .unsubscribe();
    let settled = false;
    void rests[0]?.then(() => (settled = true));
    await new Promise(setImmediate);
    expect(settled).toBe(false);
    stuck.resolve();
    await new Promise(setImmediate);
    expect(settled).toBe(true);
  });

  it('should hand over nothing that has ended, or that can be stopped', async () => {
    const onOpen = vi.fn();
    await lastValueFrom(fromInput(Promise.resolve('done'), onOpen));
    fromInput(NEVER, onOpen).subscribe().unsubscribe();
    expect(onOpen).not.toHaveBeenCalled();
  });
});
