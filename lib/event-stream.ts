import { catchError, ignoreElements, type NextObserver, type Observable, type ObservableInput, tap, throwError } from 'rxjs';
import { expected } from '../operators/expected.js';
import { isObservableInput } from '../operators/observable-input.js';
import { failed } from './describe-error.js';
import type { Trigger } from '../operators/types.js';
import { withSignal } from './with-signal.js';

/**
 * What a Controller listens to: anything that rxjs's `from` takes, or a function that is called once per term of
 * leadership and returns such a thing. The signal of a function aborts when its stream is let go.
 *
 * A promise or generator can be listened to only once: to be listened to again after leadership was lost and won back, it
 * has to come from a function.
 *
 * @example
 * const streams: Record<string, EventStream> = {
 *   files: fileChanges$,
 *   feed: async function* (signal) { yield* subscribe({ signal }); },
 * };
 */
export type EventStream = ObservableInput<string | Trigger> | ((signal: AbortSignal) => ObservableInput<string | Trigger>);

/** Hands the events of one stream to `events`, each marked with the stream's name. Ends with the stream, whose failure names it too. */
export function eventStream(name: string, stream: EventStream, events: NextObserver<Trigger>): Observable<never> {
  return withSignal((signal) => {
    const source = typeof stream === 'function' ? stream(signal) : stream;
    expected(`streams.${name}`, source, 'a function that returns an Observable, promise or iterable', isObservableInput(source));
    return source;
  }).pipe(
    tap((event) => {
      events.next(marked(event, name));
    }),
    ignoreElements(),
    catchError((error: unknown) => throwError(() => failed(`Event stream \`${name}\``, error))),
  );
}

/** Takes anything, and leaves it to the loop to reject what is no event. */
function marked(event: string | Trigger, stream: string): Trigger {
  try {
    return typeof event === 'object' ? { ...event, id: event.id, stream } : { id: event, stream };
  } catch {
    return { id: event as string, stream };
  }
}

/** @throws TypeError if there is a stream that cannot be listened to */
export function checkEventStreams(streams: Readonly<Record<string, EventStream>>): void {
  const isRecord = typeof streams === 'object' && (streams as unknown) !== null && !isObservableInput(streams);
  expected('streams', streams, 'an object of event streams by name', isRecord);
  for (const [name, stream] of Object.entries(streams)) {
    const listenable = typeof stream === 'function' || isObservableInput(stream);
    expected(`streams.${name}`, stream, 'an Observable, promise, iterable, or a function that returns one', listenable);
  }
}
