import {
  catchError,
  defer,
  map,
  type Observable,
  type ObservableInput,
  of,
  retry,
  type SchedulerLike,
  switchMap,
  throwError,
  timeout,
} from 'rxjs';
import { withSignal } from '../with-signal.js';
import { EtcdError, isTransient, UnavailableError } from './etcd-error.js';
import type { FetchLike, FetchResponse } from './fetch-like.js';
import { answerOf, messagesOf } from './responses.js';

/** Where etcd is, and how to talk to it. */
export interface GatewayConfig {
  readonly urls: readonly string[];
  readonly fetch: FetchLike;
  /** How long one endpoint may take to answer, in ms. */
  readonly deadline: number;
  readonly scheduler: SchedulerLike;
}

/** Makes a watch end when the member that it goes through has lost the others: it would be silent otherwise. */
const HEADERS = { 'content-type': 'application/json', 'grpc-metadata-hasleader': 'true' };

/**
 * etcd's JSON gateway. It stays with one endpoint until that fails, and then goes on to the next. Where an endpoint cannot be
 * reached, has no leader or does not answer in time, `ask` tries each of the others before it fails: so a request may be carried
 * out twice, and must be one that may.
 */
export class Gateway {
  readonly #config: GatewayConfig;
  #current = 0;

  constructor(config: GatewayConfig) {
    this.#config = config;
  }

  /** The one answer to a request; an EtcdError if etcd refuses. */
  ask<T>(path: string, body: object): Observable<T> {
    const count = this.#config.urls.length - 1;
    const delay = (error: unknown): Observable<unknown> => (isTransient(error) ? of(0) : throwError(() => error));
    return this.#post<T>(path, body, answerOf).pipe(retry({ count, delay }));
  }

  /** What comes over a request that stays open, the first within the deadline. Never completes: errors when it ends. */
  stream<T>(path: string, body: object): Observable<T> {
    return this.#post<T>(path, body, messagesOf);
  }

  /** Goes through the current endpoint, and leaves it if that fails, or has not said anything within the deadline. */
  #post<T>(path: string, body: object, read: Read): Observable<T> {
    return defer(() => {
      const { urls, fetch, deadline, scheduler } = this.#config;
      const url = urls[this.#current % urls.length] as string;
      const late = (): Observable<never> => throwError(() => new UnavailableError(`etcd at ${url} did not answer within ${deadline} ms`));
      return withSignal((signal) =>
        defer(() => fetch(`${url}/v3/${path}`, { method: 'POST', headers: HEADERS, body: JSON.stringify(body), signal })).pipe(
          switchMap((response) => read(response, url)),
        ),
      ).pipe(
        timeout({ first: deadline, scheduler, with: late }),
        catchError((error: unknown) => {
          const isKnown = error instanceof EtcdError || error instanceof UnavailableError;
          const known = isKnown ? error : new UnavailableError(`etcd at ${url} could not be reached`, { cause: error });
          if (isTransient(known)) this.#leave(url);
          return throwError(() => known);
        }),
        map((answer) => answer as T),
      );
    });
  }

  #leave(url: string): void {
    const { urls } = this.#config;
    // Another request may have left it already.
    if (url === urls[this.#current % urls.length]) this.#current++;
  }
}

type Read = (response: FetchResponse, url: string) => ObservableInput<unknown>;
