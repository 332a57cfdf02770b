import { type Context, context } from '@opentelemetry/api';
import { Observable, type ObservableInput } from 'rxjs';
import { isAsyncIterable, isObservableInput, isPromiseLike, toObservable } from '../../../operators/observable-input.js';
import type { Reconciler } from '../../../operators/types.js';

type Answer = ReturnType<Reconciler>;

/**
 * Calls a reconciler with `active` as the active context, and sees to it that it is active too wherever code of the user
 * runs later because of what it returned. The loop hears of the end of the answer in its own context, so that the span of one
 * id is never active while it goes on with the next.
 */
export function runInContext<C>(active: Context, reconciler: Reconciler<C>, id: string, run: C): Answer {
  const answer: unknown = context.with(active, reconciler, undefined, id, run);
  if (answer === undefined || answer === null || answer instanceof Promise) return answer as Answer;
  // A thenable, such as a query builder, starts to work when its `then` is called.
  if (isPromiseLike(answer)) return context.with(active, () => Promise.resolve(answer)) as Answer;
  if (isAsyncIterable(answer)) return asyncIterableWithin(active, answer) as Answer;
  if (isObservableInput(answer)) return observableWithin(active, answer) as Answer;
  return answer as Answer;
}

function observableWithin(active: Context, answer: ObservableInput<unknown>): Observable<unknown> {
  // Made by hand: no operator can put subscribing, ending and unsubscribing into contexts of their own.
  return new Observable((subscriber) => {
    const outer = context.active();
    const observer = {
      // The loop only keeps it; it goes on when the answer ends.
      next: (value: unknown) => {
        subscriber.next(value);
      },
      error: context.bind(outer, (error: unknown) => {
        subscriber.error(error);
      }),
      complete: context.bind(outer, () => {
        subscriber.complete();
      }),
    };
    const subscription = context.with(active, () => toObservable(answer).subscribe(observer));
    return context.bind(active, () => {
      subscription.unsubscribe();
    });
  });
}

/** The body of a generator runs in the context of whoever asks for its next value. */
function asyncIterableWithin(active: Context, answer: AsyncIterable<unknown>): AsyncIterable<unknown> {
  return {
    [Symbol.asyncIterator]: () => {
      const values = context.with(active, () => answer[Symbol.asyncIterator]());
      return {
        next: () => context.with(active, () => values.next()),
        return: (value?: unknown) => context.with(active, async () => (await values.return?.(value)) ?? { done: true, value }),
      };
    },
  };
}
