import {
  catchError,
  concat,
  defer,
  EMPTY,
  filter,
  from,
  ignoreElements,
  map,
  Observable,
  type SchedulerLike,
  Subject,
  take,
  throwError,
  timeout,
} from 'rxjs';
import type { ClientLike, NotificationLike, Opener, Opening } from './connection.js';

export interface SessionConfig {
  /** How long PostgreSQL may take to connect and to answer a query, in ms. After it the peer counts as dead. */
  readonly deadline: number;
  readonly scheduler: SchedulerLike;
}

/** One SQL statement and its parameters. */
export interface Statement {
  readonly text: string;
  readonly values?: unknown[];
}

/**
 * Connects, emits the session once it is open, and errors when it is lost: never completes. Unsubscribing closes the
 * connection: in good order while it answers, at once when it does not.
 */
export function session(opener: Opener, config: SessionConfig): Observable<Session> {
  // Made by hand: it owns the connection, which must be closed however this ends, even where it opens too late.
  return new Observable((subscriber) => {
    const { deadline, scheduler } = config;
    const opening = opener.open();
    let session: Session | undefined;
    const opened = from(opening.client).pipe(timeout({ first: deadline, scheduler, with: late(opener.refusal, deadline) }));
    subscriber.add(() => {
      if (session === undefined) opening.close('at once');
      else session.close();
    });
    subscriber.add(
      opened.subscribe({
        next: (client) => {
          session = new Session(client, opening, config, (error) => {
            subscriber.error(error);
          });
          subscriber.next(session);
        },
        error: (error: unknown) => {
          subscriber.error(error);
        },
      }),
    );
  });
}

/** An open connection of our own. */
export class Session {
  readonly #notifications = new Subject<NotificationLike>();
  readonly #ended = new Subject<void>();
  readonly #client: ClientLike;
  readonly #opening: Opening;
  readonly #config: SessionConfig;
  #isLost = false;
  /** Said before the connection is closed in good order. */
  farewell: Statement | undefined;

  constructor(client: ClientLike, opening: Opening, config: SessionConfig, lost: (error: Error) => void) {
    this.#client = client;
    this.#opening = opening;
    this.#config = config;
    const lose = (error: Error): void => {
      this.#isLost = true;
      this.#ended.next();
      lost(error);
    };
    client.on('error', lose);
    client.on('end', () => {
      lose(new Error('PostgreSQL closed the connection'));
    });
    client.on('notification', (notification) => {
      this.#notifications.next(notification);
    });
  }

  /** The server process that the connection claims to talk to; a proxy makes one up. */
  get processID(): unknown {
    return (this.#client as { processID?: unknown }).processID;
  }

  /** The payloads that come through `channel`. */
  payloads(channel: string): Observable<string> {
    return this.#notifications.pipe(
      filter((notification) => notification.channel === channel),
      map(({ payload }) => payload ?? ''),
    );
  }

  /** The rows of the answer; an error if PostgreSQL refuses, or has not answered in time, and then the session is lost. */
  query({ text, values }: Statement): Observable<readonly unknown[]> {
    const { deadline, scheduler } = this.#config;
    const unanswered = defer(() => {
      this.#isLost = true;
      return late('PostgreSQL did not answer', deadline)();
    });
    return defer(() => this.#client.query(text, values)).pipe(
      timeout({ first: deadline, scheduler, with: () => unanswered }),
      map(({ rows }) => rows),
    );
  }

  close(): void {
    if (this.#isLost) {
      this.#opening.close('at once');
      return;
    }
    const { deadline, scheduler } = this.#config;
    const ended = defer(() => {
      this.#opening.close('orderly');
      return this.#ended.pipe(take(1), timeout({ first: deadline, scheduler }));
    });
    const farewell = this.farewell === undefined ? EMPTY : this.query(this.farewell).pipe(ignoreElements());
    concat(farewell, ended)
      .pipe(
        catchError(() => {
          this.#opening.close('at once');
          return EMPTY;
        }),
      )
      .subscribe();
  }
}

function late(what: string, deadline: number): () => Observable<never> {
  return () => throwError(() => new Error(`${what} within ${String(deadline)} ms`));
}
