import pg from 'pg';
import { check } from '../../operators/check.js';

/** What a `pg` Client takes to connect; the environment (`PGHOST`, ...) fills in the rest. */
export interface ConnectionConfig {
  readonly connectionString?: string | undefined;
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  readonly database?: string | undefined;
  readonly user?: string | undefined;
  /** The password, or what fetches it for each connect. */
  readonly password?: string | (() => string | Promise<string>) | undefined;
  readonly ssl?: boolean | object | undefined;
  readonly application_name?: string | undefined;
  readonly options?: string | undefined;
  readonly keepAlive?: boolean | undefined;
  readonly connectionTimeoutMillis?: number | undefined;
}

/** The part of a `pg` Client that is used here. */
export interface ClientLike {
  /** Runs one statement. */
  query(text: string, values?: unknown[]): Promise<{ readonly rows: readonly unknown[] }>;
  /** The connection is broken. */
  on(event: 'error', listener: (error: Error) => void): unknown;
  /** The connection is closed. */
  on(event: 'end', listener: () => void): unknown;
  /** Another session says NOTIFY on a channel that this one listens to. */
  on(event: 'notification', listener: (notification: NotificationLike) => void): unknown;
}

/** A client on loan: given back by `release`, and closed with `true`. */
export interface PooledClientLike extends ClientLike {
  /** Gives it back; `true` closes it. */
  release(destroy?: boolean): void;
}

/** The part of a `pg` Pool that is used here. */
export interface PoolLike {
  /** Lends a client that is connected. */
  connect(): Promise<PooledClientLike>;
}

/** What `pg` hands over when another session says NOTIFY. */
export interface NotificationLike {
  readonly channel: string;
  readonly payload?: string | undefined;
}

/**
 * Where to connect: a connection string, the config of a `pg` Client, or a `pg` Pool, of which one client is on loan for
 * as long as the stream is subscribed. An own connection, string or config, is the better choice: a pool that is
 * exhausted can starve nobody then.
 */
export type Connection = string | ConnectionConfig | PoolLike;

/** A client that may not be connected yet, and how to get rid of it. */
export interface Opening {
  readonly client: Promise<ClientLike>;
  /** Closes what is open in good order, or tears it down at once, which is all that helps against a peer that is dead. */
  close(how: 'orderly' | 'at once'): void;
}

/** Opens one connection after another. */
export interface Opener {
  /** Connects, or borrows a client of the pool. */
  open(): Opening;
  /** Nobody wants a connection any more. */
  close(): void;
  /** What has not happened where nothing opens in time. */
  readonly refusal: string;
}

/** What opens connections to where `connection` says. */
export function opener(connection: Connection): Opener {
  if (isPool(connection)) return borrower(connection);
  return { open: () => connect(connection), close: () => undefined, refusal: 'PostgreSQL took no connection' };
}

/** @throws TypeError if `connection` is none of the three; what it shows holds no password */
export function checkConnection(connection: unknown): void {
  const isObject = typeof connection === 'object' && connection !== null;
  const isClient = isObject && typeof (connection as Partial<pg.ClientBase>).escapeIdentifier === 'function';
  check(
    'connection',
    isClient ? 'a Client, which cannot reconnect' : isObject ? 'an object' : connection,
    'a connection string, the config of a pg Client, or a pg Pool',
    (isObject && !isClient && !Array.isArray(connection)) || (typeof connection === 'string' && connection !== ''),
  );
}

function isPool(connection: Connection): connection is PoolLike {
  return typeof connection === 'object' && typeof (connection as Partial<PoolLike>).connect === 'function';
}

function connect(connection: string | ConnectionConfig): Opening {
  const client = new pg.Client({
    // Behind the heartbeat only the second line: it makes the kernel drop a socket whose peer has vanished.
    keepAlive: true,
    ...(typeof connection === 'string' ? { connectionString: connection } : connection),
  });
  // What goes wrong before the client is handed over rejects `connect`; an error event nobody hears would be thrown.
  client.on('error', () => undefined);
  return {
    client: client.connect().then(() => client as unknown as ClientLike),
    close: (how) => {
      if (how === 'at once') destroySocket(client);
      void client.end();
    },
  };
}

/**
 * Stands in the line of the pool once, however often it is asked to open: the place is kept from one attempt to the next, and
 * left when nobody wants a client any more. Who stood in it anew each time would in the end be most of the line.
 */
function borrower(pool: PoolLike): Opener {
  let coming: { readonly client: Promise<PooledClientLike>; readonly leave: () => void } | undefined;
  let recipient: object | undefined;
  const request = () => {
    const line = lineOf(pool);
    const before = line.length;
    const client = pool.connect();
    const place = line.length > before ? line.at(-1) : undefined;
    client.then(
      (client) => {
        coming = undefined;
        if (recipient === undefined) client.release();
      },
      () => {
        coming = undefined;
      },
    );
    const leave = (): void => {
      const index = line.indexOf(place);
      if (place !== undefined && index >= 0) line.splice(index, 1);
    };
    return { client, leave };
  };
  return {
    open: () => {
      const self = {};
      let lent: PooledClientLike | undefined;
      let released = false;
      recipient = self;
      coming ??= request();
      return {
        client: coming.client.then((client) => {
          if (recipient === self) lent = client;
          return client;
        }),
        close: (how) => {
          if (recipient === self) recipient = undefined;
          if (lent === undefined) return;
          if (how === 'at once') destroySocket(lent);
          if (!released) lent.release(true);
          released = true;
        },
      };
    },
    close: () => coming?.leave(),
    refusal: 'The pool lent no client',
  };
}

/** Those who wait for a client of a `pg` Pool, which has no public way to leave the line. */
function lineOf(pool: object): unknown[] {
  const line = (pool as { _pendingQueue?: unknown })._pendingQueue;
  return Array.isArray(line) ? line : [];
}

/** `pg` has no public way to do it, and its `end` waits for an answer that a dead peer never gives. */
function destroySocket(client: object): void {
  (client as { connection?: { stream?: { destroy?: () => void } } }).connection?.stream?.destroy?.();
}
