import { defer, EMPTY, merge, mergeMap, type Observable, type ObservableInput, share, take, tap } from 'rxjs';
import { reconnect } from '../support/reconnect.js';
import { ndjson } from './ndjson.js';

/** What is listened to, and where. */
export interface NomadEventsConfig {
  readonly address: string;
  /** By topic, with or without a key: `Job`, `Allocation:*`, `Deployment:web`. */
  readonly topics: readonly string[];
  /** Default `*`, all. */
  readonly namespace?: string;
  /** The secret id of an ACL token. */
  readonly token?: string;
  readonly idOf: (event: NomadEvent) => string;
  /** Lists all ids there are. */
  readonly list: () => ObservableInput<string | readonly string[]>;
  /** How long without an event or heartbeat until the connection counts as dead, in ms. Default 30_000: three heartbeats. */
  readonly silence?: number;
}

/** What Nomad says of a change, without its payload: the reconciler reads what is. */
export interface NomadEvent {
  readonly Topic: string;
  readonly Type: string;
  readonly Key: string;
  readonly Namespace: string;
}

/** A line: the events of one raft index, or `{}`, a heartbeat. */
interface Line {
  readonly Index?: number;
  readonly Events?: readonly NomadEvent[];
}

/**
 * Emits the id of every event of Nomad, after a list. A connection that fails, ends or is silent is made anew with backoff, from
 * the last index; Nomad begins with that index if it still has it, and anything else as first line means a gap: list again.
 *
 * Never completes, never errors. Unsubscribing aborts the request.
 */
export function nomadEvents(config: NomadEventsConfig): Observable<string> {
  const { address, topics, namespace = '*', token, idOf, list, silence = 30_000 } = config;
  const headers: Record<string, string> = token === undefined ? {} : { 'X-Nomad-Token': token };
  const listed = defer(list).pipe(mergeMap((ids) => (typeof ids === 'string' ? [ids] : ids)));
  return defer(() => {
    let last = 0;
    // Whether a list has gone through since the last gap: until then `last` proves nothing.
    let isComplete = false;
    const connection = defer(() => {
      const from = isComplete ? last : 0;
      const query = new URLSearchParams({ namespace, index: String(from) });
      for (const topic of topics) query.append('topic', topic);
      const lines = ndjson<Line>({ url: `${address}/v1/event/stream?${query.toString()}`, headers, silence }).pipe(share());
      const caughtUp = lines.pipe(
        take(1),
        mergeMap(({ Index }) => {
          isComplete &&= Index === from;
          return isComplete ? EMPTY : listed.pipe(tap({ complete: () => (isComplete = true) }));
        }),
      );
      const events = lines.pipe(
        mergeMap(({ Index = last, Events = [] }) => {
          last = Index;
          return Events.map(idOf);
        }),
      );
      // The first line may be a heartbeat, seconds from now: whoever knows nothing yet lists at once as well.
      return merge(from === 0 ? listed : EMPTY, caughtUp, events);
    });
    return connection.pipe(reconnect(`Nomad at ${address}`));
  });
}
