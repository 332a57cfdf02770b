import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setInterval } from 'node:timers';

/**
 * A stand-in for a Nomad server, and no more than that: it speaks the documented protocol of the event stream (lines of one raft
 * index each, `{}` as heartbeat, a short buffer from which `index` resumes at the closest, an ACL token), lists jobs, and does
 * what connections and servers do.
 */
export interface StandIn {
  readonly address: string;
  /** The jobs, and their versions. */
  readonly jobs: Map<string, number>;
  /** How often a stream was asked for, and jobs were listed. */
  readonly asked: { streams: number; lists: number };
  /** How many streams are open. */
  connected(): number;
  /** Writes a job, which is an event. */
  change(id: string): void;
  /** Breaks off all streams, in the middle of a line. */
  cut(): void;
  /** Keeps the connections, and sends nothing over them, or over new ones, until it is `restarted`. */
  silence(): void;
  /** Sends the last lines again. */
  repeat(): void;
  /** Ends all streams and forgets its buffer, as a server does that is started anew. */
  restart(): void;
  stop(): void;
}

/** @param heartbeat how often, in ms; Nomad's is 10_000 */
export async function nomadStandIn({ token = 'secret', heartbeat = 10_000, buffered = 100 } = {}): Promise<StandIn> {
  const jobs = new Map<string, number>();
  const asked = { streams: 0, lists: 0 };
  const streams = new Set<ServerResponse>();
  let buffer: { readonly index: number; readonly line: string }[] = [];
  let index = 7;
  let isSilent = false;

  const send = (line: string): void => {
    if (!isSilent) for (const stream of streams) stream.write(`${line}\n`);
  };
  const handle = ({ url = '', headers }: IncomingMessage, response: ServerResponse): void => {
    const { pathname, searchParams } = new URL(url, 'http://nomad');
    if (headers['x-nomad-token'] !== token) response.writeHead(403).end('Permission denied');
    else if (pathname === '/v1/jobs') {
      asked.lists++;
      response.setHeader('X-Nomad-Index', index).end(JSON.stringify([...jobs.keys()].map((ID) => ({ ID }))));
    } else if (pathname === '/v1/event/stream' && searchParams.getAll('topic').includes('Job')) {
      asked.streams++;
      const first = Number(searchParams.get('index') ?? 0);
      if (!isSilent) for (const { line } of buffer.filter((entry) => entry.index >= first)) response.write(`${line}\n`);
      streams.add(response);
      response.once('close', () => streams.delete(response));
    } else response.writeHead(404).end();
  };
  const server = createServer(handle);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const beats = setInterval(() => send('{}'), heartbeat);
  return {
    address: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    jobs,
    asked,
    connected: () => streams.size,
    change: (id) => {
      index++;
      jobs.set(id, index);
      const event = {
        Topic: 'Job',
        Type: 'JobRegistered',
        Key: id,
        Namespace: 'default',
        FilterKeys: null,
        Index: index,
        Payload: { Job: { ID: id } },
      };
      const line = JSON.stringify({ Index: index, Events: [event] });
      buffer = [...buffer, { index, line }].slice(-buffered);
      send(line);
    },
    cut: () => {
      for (const stream of streams) {
        stream.write('{"Index":');
        stream.destroy();
      }
      streams.clear();
    },
    silence: () => {
      isSilent = true;
    },
    repeat: () => {
      for (const { line } of buffer.slice(-5)) send(line);
    },
    restart: () => {
      isSilent = false;
      buffer = [];
      for (const stream of streams) stream.end();
      streams.clear();
    },
    stop: () => {
      clearInterval(beats);
      server.close();
      server.closeAllConnections();
    },
  };
}
