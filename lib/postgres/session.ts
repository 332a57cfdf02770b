import {
  catchError,
  concat,
  defer,
  EMPTY,
  filter,
  finalize,
  from,
  ignoreElements,
  map,
  merge,
  mergeMap,
  Observable,
  type SchedulerLike,
  Subject,
  Subscription,
  take,
  throwError,
  timeout,
} from 'rxjs';
import { after } from '../../operators/after.js';
import type { ClientLike, NotificationLike, Opener, Opening } from './connection.js';

export interface SessionConfig {
  /** How long PostgreSQL may take to connect and to answer a query, in ms. After it the peer counts as dead. */
  readonly deadline: number;
  /**
   * How long after the last statement that was answered had been sent the session may be believed in, in ms: less than PostgreSQL
   * waits before it ends a session that is silent. A process that was frozen then knows as soon as it wakes up. Default Infinity.
   */
  readonly patience?: number | undefined;
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
    const opened = from(opening.client).pipe(
      timeout({ first: deadline, scheduler, with: () => throwError(() => late(opener.refusal, deadline)) }),
    );
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
  readonly #answers = new Subject<void>();
  readonly #ended = new Subject<Error>();
  readonly #timers = new Subscription();
  readonly #client: ClientLike;
  readonly #opening: Opening;
  readonly #config: SessionConfig;
  readonly #lost: (error: Error) => void;
  #failure: Error | undefined;
  /** It was given up because PostgreSQL does not answer: the connection may be there still. */
  #isSilent = false;
  #inTurn: Promise<unknown> = Promise.resolve();
  #patience = Subscription.EMPTY;
  /** Said before the connection is closed in good order. */
  farewell: Statement | undefined;

  constructor(client: ClientLike, opening: Opening, config: SessionConfig, lost: (error: Error) => void) {
    this.#client = client;
    this.#opening = opening;
    this.#config = config;
    this.#lost = lost;
    client.on('error', (error) => {
      this.fail(error);
    });
    client.on('end', () => {
      this.fail(new Error('PostgreSQL closed the connection'));
    });
    client.on('notification', (notification) => {
      this.#notifications.next(notification);
    });
  }

  /** The server process that the connection claims to talk to; a proxy makes one up. */
  get processID(): unknown {
    return (this.#client as { processID?: unknown }).processID;
  }

  /** Emits whenever PostgreSQL has answered. */
  get answers(): Observable<void> {
    return this.#answers;
  }

  /** The payloads that come through `channel`. */
  payloads(channel: string): Observable<string> {
    return this.#notifications.pipe(
      filter((notification) => notification.channel === channel),
      map(({ payload }) => payload ?? ''),
    );
  }

  /**
   * The rows of the answer; an error if PostgreSQL refuses, or has not answered in time, and then the session is lost. One
   * statement at a time, in the order in which they were subscribed to; its time begins when it is sent, and whether or not somebody
   * still waits for the answer, those behind it do.
   */
  query({ text, values }: Statement): Observable<readonly unknown[]> {
    const send = (): Promise<{ readonly rows: readonly unknown[] }> => {
      const patience = this.#begin();
      const overdue = this.#lateAfter(this.#config.deadline, (ms) => late('PostgreSQL did not answer', ms));
      const answered = this.#client.query(text, values);
      const heard = (): void => {
        this.#forget(overdue);
        this.#hear(patience);
      };
      answered.then(heard, heard);
      return answered;
    };
    return defer(() => {
      const failure = this.#failure;
      if (failure !== undefined) return throwError(() => failure);
      const answered = this.#inTurn.then(send);
      this.#inTurn = answered.catch(() => undefined);
      const failed = this.#ended.pipe(mergeMap((error) => throwError(() => error)));
      return merge(answered, failed).pipe(take(1));
    }).pipe(map(({ rows }) => rows));
  }

  /** The session is of no use any more. */
  fail(error: Error): void {
    this.#failure ??= error;
    this.#timers.unsubscribe();
    this.#lost(error);
    this.#ended.next(error);
  }

  close(): void {
    this.#patience.unsubscribe();
    if (this.#failure !== undefined) {
      this.#opening.close('at once');
      return;
    }
    const { deadline, scheduler } = this.#config;
    const ended = defer(() => {
      this.#opening.close('orderly');
      return this.#ended.pipe(
        take(1),
        timeout({ first: deadline, scheduler }),
        // A statement that was under way may be given up meanwhile, and that ends no connection.
        mergeMap((error) => (this.#isSilent ? throwError(() => error) : EMPTY)),
      );
    });
    const farewell = this.farewell === undefined ? EMPTY : this.query(this.farewell).pipe(ignoreElements());
    concat(farewell, ended)
      .pipe(
        catchError(() => {
          this.#opening.close('at once');
          return EMPTY;
        }),
        finalize(() => {
          this.#timers.unsubscribe();
        }),
      )
      .subscribe();
  }

  /** A statement is sent: from now on counts the time after which nobody may believe in this session, once it is answered. */
  #begin(): Subscription {
    const { patience = Infinity } = this.#config;
    return this.#lateAfter(patience, (ms) => new Error(`PostgreSQL has answered nothing that was asked within ${String(ms)} ms`));
  }

  /** The session is lost in `ms`, unless that is forgotten. */
  #lateAfter(ms: number, why: (ms: number) => Error): Subscription {
    const timer = after(ms, this.#config.scheduler).subscribe({
      next: () => {
        this.#isSilent = true;
        this.fail(why(ms));
      },
      // A scheduler does not error.
      error: () => undefined,
    });
    this.#timers.add(timer);
    return timer;
  }

  #forget(timer: Subscription): void {
    this.#timers.remove(timer);
    timer.unsubscribe();
  }

  #hear(patience: Subscription): void {
    this.#forget(this.#patience);
    this.#patience = patience;
    this.#answers.next();
  }
}

function late(what: string, deadline: number): Error {
  return new Error(`${what} within ${String(deadline)} ms`);
}
