import { hostname } from 'node:os';
import type { Trigger } from 'kreconciler';
import { defer, exhaustMap, firstValueFrom, from, interval, Observable, Subscription, timeout } from 'rxjs';
import { reconnect } from '../support/reconnect.js';
import { settled } from '../support/settled.js';
import { client } from './connection.js';

/** What is read, and how. */
export interface StreamGroupConfig {
  readonly url: string;
  readonly stream: string;
  readonly group: string;
  /** The name of this process in the group. One that comes back under its name begins with what it held. Default the host's name. */
  readonly consumer?: string;
  /** The id that an entry is about. Default its field `id`. */
  readonly idOf?: (entry: Readonly<Record<string, string>>) => string;
  /** How many entries may be unanswered before no more are read. Default 1_000: below `workerQueueSize`, so that few are refused. */
  readonly inFlight?: number;
  /** After how long without a word a consumer counts as dead, and others take what it held, in ms. Default 60_000. */
  readonly idle?: number;
  /** How long Redis may not answer, in ms. Default 10_000. */
  readonly silence?: number;
  /** How long after unsubscribing answers are waited for, in ms. Default 30_000, as `shutdownGrace`. */
  readonly grace?: number;
}

/** An entry, and what may become of it. */
export interface Delivery {
  readonly entry: Readonly<Record<string, string>>;
  readonly done: () => Promise<unknown>;
  /** The group gets it again in `delay` ms. */
  readonly again: (delay: number) => Promise<unknown>;
  /** It is put to the end of the stream `STREAM:dead`, and done. */
  readonly bury: (why: string) => Promise<unknown>;
}

interface Entries {
  readonly messages: readonly { readonly id: string; readonly message: Readonly<Record<string, string>> }[];
}

type Event = Trigger & { readonly message: Delivery };

/**
 * Emits what a consumer of a group gets: first what it held before, then what is new, and what consumers held who are dead.
 * A connection that fails or is silent is made anew, with backoff. Never completes, never errors.
 *
 * Unsubscribing stops the reading at once; the connection is closed when all is answered, or after `grace` ms.
 */
export function streamGroup(config: StreamGroupConfig): Observable<Event> {
  return membership(config).pipe(reconnect(`Redis, stream ${config.stream}`));
}

/** One pair of connections: a read that blocks holds up all that is behind it. */
function membership(config: StreamGroupConfig): Observable<Event> {
  const {
    url,
    stream,
    group,
    consumer = hostname(),
    idOf = ({ id = '' }) => id,
    inFlight = 1_000,
    idle = 60_000,
    silence = 10_000,
    grace = 30_000,
  } = config;
  return new Observable<Event>((subscriber) => {
    const [reader, writer] = [client(url), client(url)];
    const work = new Subscription();
    const open = new Set<string>();
    let answering = 0;
    let isBroken = false;
    const fail = (error: unknown): void => {
      // What is let go ends, too.
      isBroken ||= !subscriber.closed;
      subscriber.error(error);
    };
    for (const each of [reader, writer]) each.on('error', fail).on('end', () => fail(new Error('the connection was closed')));
    const within = <T>(answer: Promise<T>, ms = silence): Promise<T> => firstValueFrom(from(answer).pipe(timeout(ms)));

    const deliver = (key: string, entry: Readonly<Record<string, string>>): void => {
      const answered = (answer: () => Promise<unknown>) => {
        open.delete(key);
        answering++;
        return within(answer()).finally(() => answering--);
      };
      open.add(key);
      subscriber.next({
        id: idOf(entry),
        message: {
          entry,
          done: () => answered(() => writer.xAck(stream, group, key)),
          // Its idle time is set so that it is up for claiming then, by whoever comes first.
          again: (delay) =>
            answered(() => writer.xClaimJustId(stream, group, consumer, 0, key, { IDLE: Math.max(0, Math.ceil(idle - delay)) })),
          bury: (why) =>
            answered(() =>
              writer
                .multi()
                .xAdd(`${stream}:dead`, '*', { ...entry, why })
                .xAck(stream, group, key)
                .exec(),
            ),
        },
      });
    };
    const deliverAll = (entries: readonly (Entries['messages'][number] | null)[]): void => {
      for (const entry of entries) if (entry !== null) deliver(entry.id, entry.message);
    };
    const read = async (): Promise<void> => {
      while (!subscriber.closed) {
        await settled(() => (subscriber.closed ? 0 : Math.max(0, open.size - inFlight + 1)), silence);
        if (open.size >= inFlight) continue;
        const options = { COUNT: inFlight - open.size, BLOCK: Math.ceil(silence / 2) };
        const read = (await within(reader.xReadGroup(group, consumer, { key: stream, id: '>' }, options))) as readonly Entries[] | null;
        for (const { id, message } of read?.[0]?.messages ?? []) deliver(id, message);
      }
    };
    // Not by a read from `0`: that one brings entries that were trimmed meanwhile, too, with nothing in them.
    const resume = async (): Promise<void> => {
      const held = await within(writer.xPendingRange(stream, group, '-', '+', inFlight, { consumer }));
      const ids = held.map(({ id }) => id);
      if (ids.length > 0) deliverAll(await within(writer.xClaim(stream, group, consumer, 0, ids)));
    };
    const claim = async (): Promise<void> => {
      // What is in work is not idle; and what is idle is taken.
      if (open.size > 0) await within(writer.xClaimJustId(stream, group, consumer, 0, [...open]));
      if (subscriber.closed || open.size >= inFlight) return;
      const { messages } = await within(writer.xAutoClaim(stream, group, consumer, idle, '0', { COUNT: inFlight - open.size }));
      deliverAll(messages);
    };
    const start = async (): Promise<void> => {
      await within(Promise.all([reader.connect(), writer.connect()]));
      await within(writer.xGroupCreate(stream, group, '0', { MKSTREAM: true })).catch((error: unknown) => {
        if (!String(error).includes('BUSYGROUP')) throw error;
      });
      work.add(
        interval(idle / 4)
          .pipe(exhaustMap(claim))
          .subscribe({ error: fail }),
      );
      await resume();
      await read();
    };
    work.add(defer(start).subscribe({ error: fail }));
    const close = async (): Promise<void> => {
      if (reader.isOpen) reader.destroy();
      await settled(() => (isBroken ? 0 : open.size + answering), grace);
      work.unsubscribe();
      if (writer.isOpen) writer.destroy();
    };
    return () => void close();
  });
}
