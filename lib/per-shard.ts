import { filter, mergeMap, type Observable, pairwise, startWith, takeUntil } from 'rxjs';
import { check, checkFunction } from '../operators/check.js';
import { isObservableInput } from '../operators/observable-input.js';
import type { EventSource, Events } from './event-stream.js';
import { everything, type Ownership } from './shards/ownership.js';
import { withSignal } from './with-signal.js';

/**
 * An event stream for brokers that partition: listens to one source for each shard that this process owns, so that each message is
 * delivered to the owner of its id and to nobody else. Whoever sends puts it there by {@link shardOf}.
 *
 * `subscribe` is called whenever a shard has come. What it returns is let go, and its signal aborts, when the shard is to go or is
 * lost; messages that are in flight by then are `dropped: moved`, and given back at once by {@link acknowledge}. A source that errors
 * fails the stream, and with it `run`; one that completes is not called again until its shard has gone and come back. The stream never completes.
 *
 * @throws TypeError if `subscribe` is no function; and, as the failure of the stream, without `config.shards`
 * @example
 * const orders = perShard((shard, signal) => messagesOf(`orders.${shard}`, signal)); // sent to `orders.${shardOf(id, 64)}`
 * await new Controller({ shards: shards({ connection, name: 'orders', count: 64 }) }, reconciler, { orders }).run(signal);
 */
export function perShard(
  subscribe: (shard: number, signal: AbortSignal) => EventSource,
): (signal: AbortSignal, ownership: Ownership) => Observable<Events> {
  checkFunction('subscribe', subscribe);
  return (_, ownership) => {
    check('config.shards', undefined, 'there for a stream that is made by `perShard`', ownership !== everything);
    const { owned } = ownership;
    return owned.pipe(
      startWith<readonly number[]>([]),
      pairwise(),
      mergeMap(([before, now]) => now.filter((shard) => !before.includes(shard))),
      mergeMap((shard) => {
        const gone = owned.pipe(filter((shards) => !shards.includes(shard)));
        return withSignal((signal) => {
          const source: unknown = subscribe(shard, signal);
          check('subscribe', source, 'a function that returns an Observable, promise or iterable', isObservableInput(source));
          return source as EventSource;
        }).pipe(takeUntil(gone));
      }),
    );
  };
}
