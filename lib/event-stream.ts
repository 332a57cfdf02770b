import { Observable, type ObservableInput, takeUntil } from 'rxjs';
import { check } from '../operators/check.js';
import { isObservableInput, isPromiseLike } from '../operators/observable-input.js';
import { copied } from '../operators/trigger.js';
import type { Trigger } from '../operators/types.js';
import { failed } from './describe-error.js';
import { everything, type Ownership } from './shards/ownership.js';
import { withSignal } from './with-signal.js';

/** One event, or several in one go. */
export type Events = string | Trigger | readonly (string | Trigger)[];

/** Whatever events come from. `object`, because a string would be taken for a list of its letters. */
export type EventSource = ObservableInput<Events> & object;

/**
 * What a Controller listens to: anything that rxjs's `from` takes, or a function that is called once per term of
 * leadership and returns such a thing. The signal of a function aborts when its stream is let go. A value may be an array of
 * events, so that a promise of all ids is a stream, too.
 *
 * With `config.shards` streams are listened to once in the process while it owns any shard, and events of others are rejected. A
 * function is given what it owns: whoever lists has to list again for shards that come later.
 *
 * A promise or generator can be listened to only once: to be listened to again after leadership was lost and won back, it
 * has to come from a function.
 *
 * @example
 * const streams: Record<string, EventStream> = {
 *   boot: () => fetchAllIds(),
 *   files: fileChanges$,
 *   feed: async function* (signal) { yield* subscribe({ signal }); },
 *   resync: (_, { acquired }) => resync({ every: 60_000, list, relistOn: acquired }),
 * };
 */
export type EventStream = EventSource | ((signal: AbortSignal, ownership: Ownership) => EventSource);

/** The events of one stream, each marked with the stream's name, which its failure has, too. */
export function eventStream(name: string, stream: EventStream, ownership: Ownership = everything): Observable<Trigger> {
  const source = withSignal((signal) => {
    const source: unknown = typeof stream === 'function' ? stream(signal, ownership) : stream;
    check(`streams.${name}`, source, 'a function that returns an Observable, promise or iterable', isObservableInput(source));
    return source as EventSource;
  });
  // Made by hand: a stock operator that unpacks arrays makes an Observable for each event.
  return new Observable((subscriber) => {
    const unsubscribed = new Observable<void>((notifier) => {
      subscriber.add(() => {
        notifier.next();
      });
    });
    source.pipe(takeUntil(unsubscribed)).subscribe({
      next: (events) => {
        if (!Array.isArray(events)) subscriber.next(marked(events as string | Trigger, name));
        else for (const event of events as readonly (string | Trigger)[]) subscriber.next(marked(event, name));
      },
      error: (error: unknown) => {
        subscriber.error(failed(`Event stream \`${name}\``, error));
      },
      complete: () => {
        subscriber.complete();
      },
    });
  });
}

/** Takes anything, and leaves it to the loop to reject what is no event. */
function marked(event: string | Trigger, stream: string): Trigger {
  if (typeof event !== 'object') return { id: event, stream };
  try {
    return copied(event, stream);
  } catch {
    return { id: event as unknown as string, stream };
  }
}

/** @throws TypeError if there is a stream that cannot be listened to */
export function checkEventStreams(streams: Readonly<Record<string, EventStream>>): void {
  const isRecord = typeof streams === 'object' && (streams as unknown) !== null && !isStream(streams);
  check('streams', streams, 'an object of event streams by name', isRecord);
  for (const [name, stream] of Object.entries(streams)) {
    const listenable = typeof stream === 'function' || isObservableInput(stream);
    check(`streams.${name}`, stream, 'an Observable, promise, iterable, or a function that returns one', listenable);
    observed(stream);
  }
}

/** What makes a promise, a web stream or an Observable, unless it is the name of a stream. */
const NAMES = ['then', 'getReader', '@@observable'];

/** Whether it is one stream instead of several by name. */
function isStream(streams: object): boolean {
  return isObservableInput(streams) && !NAMES.some((name) => Object.hasOwn(streams, name));
}

/** A promise may reject long before this process leads and listens to it: until then that is no unhandled rejection. */
function observed(stream: EventStream): void {
  if (!isPromiseLike(stream)) return;
  try {
    // Not by a `then` of its own, which may be what starts the work.
    void Promise.prototype.then.call(stream, undefined, () => undefined);
  } catch {
    // It is no promise of the language, and nobody watches over its rejections.
  }
}
