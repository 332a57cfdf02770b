import { from, Observable, type ObservableInput } from 'rxjs';
import { isAsyncIterable, isObservableLike, isPromiseLike, toObservable } from '../operators/observable-input.js';

/** Is given what goes on although it was let go, and settles when that has ended. */
export type OnOpen = (rest: Promise<unknown>) => void;

/**
 * `from` of rxjs, but what is let go is closed at once: an async iterator gets its `return()`, and a web stream is cancelled
 * (F5), where rxjs waits for the next value, which may never come. What cannot be stopped, a promise for instance, is handed
 * to `onOpen`.
 */
export function fromInput<T>(input: ObservableInput<T>, onOpen?: OnOpen): Observable<T> {
  if (isReadable(input)) return fromAsyncIterable(() => chunksOf(input), onOpen);
  if (isObservableLike(input)) return toObservable(input);
  if (isPromiseLike(input)) return fromPromise(input, onOpen);
  if (isAsyncIterable(input)) return fromAsyncIterable(() => (input as AsyncIterable<T>)[Symbol.asyncIterator](), onOpen);
  // A synchronous iterable is closed by rxjs: nobody can let go of it but between two values.
  return from(input);
}

function fromPromise<T>(promise: PromiseLike<T>, onOpen: OnOpen | undefined): Observable<T> {
  if (onOpen === undefined) return from(promise);
  return new Observable((subscriber) => {
    let isOpen = true;
    // As `await` does it: a `then` of its own may call back twice.
    const settled = Promise.resolve(promise).finally(() => {
      isOpen = false;
    });
    subscriber.add(() => {
      if (isOpen) onOpen(settled);
    });
    return from(settled).subscribe(subscriber);
  });
}

function fromAsyncIterable<T>(open: () => AsyncIterator<T>, onOpen: OnOpen | undefined): Observable<T> {
  // Made by hand: only who holds the iterator can close it while a value is awaited.
  return new Observable((subscriber) => {
    const iterator = open();
    let isOver = false;
    const pull = async (): Promise<void> => {
      while (!subscriber.closed) {
        const result = await iterator.next();
        isOver = result.done === true;
        if (result.done === true) subscriber.complete();
        else subscriber.next(result.value);
      }
    };
    const pulled = pull().catch((error: unknown) => {
      isOver = true;
      subscriber.error(error);
    });
    subscriber.add(() => {
      if (isOver) return;
      const closed = closeIterator(iterator);
      onOpen?.(Promise.all([pulled, closed]));
    });
  });
}

/** What an iterator says of being closed is nobody's any more. */
async function closeIterator(iterator: AsyncIterator<unknown>): Promise<void> {
  try {
    await iterator.return?.();
  } catch {
    // It was let go.
  }
}

/** The iterator that a web stream has of its own waits for a chunk before it cancels. */
function chunksOf<T>(stream: ReadableStreamOf<T>): AsyncIterator<T> {
  const reader = stream.getReader();
  return {
    next: () => reader.read() as Promise<IteratorResult<T>>,
    return: async () => {
      await reader.cancel();
      return { done: true, value: undefined };
    },
  };
}

interface ReadableStreamOf<T> {
  getReader(): { read(): Promise<{ done: boolean; value?: T }>; cancel(): Promise<void> };
}

function isReadable<T>(input: ObservableInput<T>): input is ObservableInput<T> & ReadableStreamOf<T> {
  return typeof (input as Partial<ReadableStreamOf<T>>).getReader === 'function';
}
