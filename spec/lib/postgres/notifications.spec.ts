import pg from 'pg';
import { lastValueFrom, NEVER, of, type Subscription, take, throwError, toArray } from 'rxjs';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { constant, type LogFields, noopLogger, observability, ofKind, reconcile } from 'kreconciler';
import { notifications, type NotificationsConfig } from 'kreconciler/postgres';
import { type Database, database } from '../../../examples/postgres/database.js';
import { flakyProxy } from '../../support/flaky-proxy.js';

/** Real time on a real server; but a machine that is busy must not seem to be a server that does not answer. */
const quick = { heartbeat: 50, deadline: 10_000, backoff: constant(20), observability: observability({ logger: noopLogger }) };

let server: Database;
let pool: pg.Pool;
let subscriptions: Subscription[] = [];

beforeAll(async () => {
  server = await database();
  pool = new pg.Pool({ connectionString: server.url });
  pool.on('error', () => undefined);
});
afterEach(() => {
  for (const subscription of subscriptions) subscription.unsubscribe();
  subscriptions = [];
});
afterAll(async () => {
  await pool.end();
  await server.stop();
});

/** Until `holds` throws no more. */
function eventually(holds: () => unknown): Promise<unknown> {
  return vi.waitFor(holds, { timeout: 30_000, interval: 5 });
}

/** One that listens, and all it has heard so far. Its list says how often it was called: `list 1`, `list 2`. */
function listener(config: Partial<NotificationsConfig> = {}) {
  const heard: string[] = [];
  let lists = 0;
  const list = () => of([`list ${String(++lists)}`]);
  const subscription = notifications({ connection: server.url, channel: 'services', list, ...quick, ...config }).subscribe((id) =>
    heard.push(id),
  );
  subscriptions.push(subscription);
  return {
    heard,
    hears: (...ids: readonly string[]) => eventually(() => expect(heard).toEqual(ids)),
    stop: () => subscription.unsubscribe(),
  };
}

async function notify(channel: string, ...payloads: readonly string[]): Promise<void> {
  for (const payload of payloads) await pool.query('SELECT pg_notify($1, $2)', [channel, payload]);
}

/** A logger that keeps what it is given. */
function memory() {
  const lines: { readonly message: string; readonly fields: LogFields | undefined }[] = [];
  const warn = (message: string, fields?: LogFields) => lines.push({ message, fields });
  return { lines, observability: observability({ logger: { ...noopLogger, warn } }) };
}

describe('notifications', () => {
  it('should list first, and then emit every payload in order', async () => {
    const one = listener();
    await one.hears('list 1');
    await notify('services', 'a', 'b', 'a', '__proto__');
    await one.hears('list 1', 'a', 'b', 'a', '__proto__');
  });

  it('should listen before it lists, so that nothing falls in between', async () => {
    const heard: string[] = [];
    const list = async () => {
      await notify('services', 'during the list');
      return ['listed'];
    };
    const source = notifications({ connection: server.url, channel: 'services', list, ...quick });
    heard.push(...(await lastValueFrom(source.pipe(take(2), toArray()))));
    expect(heard.sort()).toEqual(['during the list', 'listed']);
  });

  it('should hear its own channel only, whatever it is called', async () => {
    const channel = `Über "x"; DROP TABLE y; --`;
    const [odd, other] = [listener({ channel }), listener({ channel: 'other' })];
    await Promise.all([odd.hears('list 1'), other.hears('list 1')]);
    await notify(channel, 'a');
    await odd.hears('list 1', 'a');
    expect(other.heard).toEqual(['list 1']);
  });

  it('should need no list', async () => {
    const one = listener({ list: undefined });
    await eventually(async () => {
      await notify('services', 'a');
      expect(one.heard).toContain('a');
    });
  });

  it('should list again after its connection was cut', async () => {
    const one = listener();
    await one.hears('list 1');
    await pool.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' OR query = 'SELECT 1'`);
    await one.hears('list 1', 'list 2');
    await notify('services', 'a');
    await one.hears('list 1', 'list 2', 'a');
  });

  it('should notice within heartbeat + deadline that PostgreSQL does not answer any more', async () => {
    const proxy = await flakyProxy(server.url);
    const { lines, observability } = memory();
    const deadline = 500;
    const one = listener({ connection: proxy.url, deadline, observability });
    await one.hears('list 1');
    const since = performance.now();
    proxy.freeze();
    await eventually(() => expect(lines).not.toHaveLength(0));
    // The two seconds are for a machine that is busy.
    expect(performance.now() - since).toBeLessThan(quick.heartbeat + deadline + 2_000);
    expect(lines[0]).toMatchObject({
      message: 'Listening to PostgreSQL failed, trying again',
      fields: { failures: 1, delay: 20, error: new Error('PostgreSQL did not answer within 500 ms') },
    });
    // As long as nobody answers it goes on trying.
    await eventually(() => expect(lines[1]?.fields?.['error']).toEqual(new Error('PostgreSQL took no connection within 500 ms')));
    proxy.thaw();
    await one.hears('list 1', 'list 2');
    one.stop();
    await proxy.close();
  });

  it('F4 should list ever more rarely where each connection is lost as soon as it has listed', async () => {
    const connection = `${server.url}?application_name=short`;
    const backoff = vi.fn((failures: number) => failures);
    const one = listener({
      connection,
      backoff,
      list: async () => {
        const end = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'short'`;
        setTimeout(() => void pool.query(end).catch(() => undefined), 20);
        return Promise.resolve(['listed']);
      },
    });
    await eventually(() => expect(one.heard).toHaveLength(4));
    expect(backoff.mock.calls.map(([failures]) => failures)).toEqual([1, 2, 3]);
  });

  it('should survive a logger that throws', async () => {
    const warn = vi.fn(() => {
      throw new Error('the disk is full');
    });
    const one = listener({ observability: observability({ logger: { ...noopLogger, warn } }) });
    await one.hears('list 1');
    await notify('services', '', 'a');
    await one.hears('list 1', '', 'a');
    expect(warn).toHaveBeenCalledOnce();
  });

  it('should survive a restart of PostgreSQL', async () => {
    const one = listener();
    await one.hears('list 1');
    await server.restart();
    await one.hears('list 1', 'list 2');
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('no');
      },
      'no',
    ],
    ['errors', () => throwError(() => new Error('no')), 'no'],
    ['hangs', () => NEVER, 'Listing all ids took longer than 100 ms'],
    [
      'is none',
      () => 5 as never,
      'Expected `list` to be a function that returns an Observable, promise or iterable of ids, got `5` (number)',
    ],
  ])('should connect anew, later every time, when the list %s', async (_, broken, message) => {
    const { lines, observability } = memory();
    let lists = 0;
    const list = () => (++lists <= 2 ? broken() : of('healed'));
    const one = listener({ list, timeout: 100, observability });
    await one.hears('healed');
    expect(lines.map(({ fields }) => fields)).toMatchObject([1, 2].map((failures) => ({ failures, error: { message } })));
  });

  it('F3 should have one list open at a time, also of those that ignore their signal', async () => {
    const { lines, observability } = memory();
    const list = vi.fn(() => new Promise<readonly string[]>(() => undefined));
    const one = listener({ list, timeout: 20, backoff: constant(1), observability });
    await eventually(() => expect(lines.some(({ message }) => message.includes('ignores its signal'))).toBe(true));
    expect(list).toHaveBeenCalledOnce();
    one.stop();
  });

  it('should abort the list when it is unsubscribed', async () => {
    const aborted = vi.fn();
    const list = vi.fn((signal: AbortSignal) => {
      signal.addEventListener('abort', aborted);
      return NEVER;
    });
    const one = listener({ list });
    await eventually(() => expect(list).toHaveBeenCalled());
    expect(aborted).not.toHaveBeenCalled();
    one.stop();
    expect(aborted).toHaveBeenCalledOnce();
  });

  it('should log a payload that is no id, and leave it to the loop to reject and count it', async () => {
    const { lines, observability } = memory();
    const source = notifications({ connection: server.url, channel: 'services', ...quick, observability });
    const rejected = lastValueFrom(
      source.pipe(
        reconcile(() => undefined),
        ofKind('rejected'),
        take(1),
      ),
    );
    // Until it listens. None may come so late that the next test hears it.
    const heard = new AbortController();
    const notifying = (async () => {
      while (!heard.signal.aborted) await notify('services', '');
    })();
    expect(await rejected).toMatchObject({ id: '', reason: 'invalid_id' });
    heard.abort();
    await notifying;
    expect(lines[0]).toEqual({ message: 'A notification holds no id', fields: { channel: 'services' } });
  });

  it('should borrow one client of a pool, and close it', async () => {
    const own = new pg.Pool({ connectionString: server.url, max: 1 });
    const one = listener({ connection: own });
    await one.hears('list 1');
    expect([own.totalCount, own.idleCount]).toEqual([1, 0]);
    one.stop();
    const { rows } = await own.query('SELECT pg_listening_channels()');
    expect(rows).toEqual([]);
    await own.end();
  });

  it('should be another connection for each subscription, and leave none behind', async () => {
    const connection = `${server.url}?application_name=twice`;
    const [one, two] = [listener({ connection }), listener({ connection })];
    await Promise.all([one.hears('list 1'), two.hears('list 1')]);
    const connections = async () => (await pool.query(`SELECT FROM pg_stat_activity WHERE application_name = 'twice'`)).rowCount;
    expect(await connections()).toBe(2);
    one.stop();
    two.stop();
    await eventually(async () => expect(await connections()).toBe(0));
  });
});

describe('notifications, given nonsense', () => {
  it.each([
    [{ connection: 5 }, 'Expected `connection` to be a connection string, the config of a pg Client, or a pg Pool, got `5` (number)'],
    [{ channel: 'x'.repeat(64) }, `Expected \`channel\` to be a name of 1 to 63 bytes without NUL, got \`${'x'.repeat(64)}\` (string)`],
    [{ channel: undefined }, 'Expected `channel` to be a name of 1 to 63 bytes without NUL, got `undefined`'],
    [{ list: [] }, 'Expected `list` to be a function, got `[]` (object)'],
    [{ timeout: 0 }, 'Expected `timeout` to be a number of ms > 0, got `0` (number)'],
    [{ heartbeat: -1 }, 'Expected `heartbeat` to be a finite number of ms > 0, got `-1` (number)'],
    [{ heartbeat: 2 ** 31 }, 'Expected `heartbeat` to be at most 604800000 ms, got `2147483648` (number)'],
    [{ observability: {} }, 'Expected `observability` to be an Observability with a logger, got `{}` (object)'],
    [{ deadline: NaN }, 'Expected `deadline` to be a finite number of ms > 0, got `NaN` (number)'],
  ])('should name the field', (config, message) => {
    expect(() => notifications({ connection: 'x', channel: 'x', ...config } as NotificationsConfig)).toThrow(new TypeError(message));
  });

  it.each([
    [undefined, '`undefined`'],
    [null, '`null`'],
  ])('should name the config, given %s', (config, shown) => {
    expect(() => notifications(config as never)).toThrow(new TypeError(`Expected \`config\` to be an object, got ${shown}`));
  });
});
