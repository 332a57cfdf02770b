import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../postgres/database.js';

/** A NATS server with JetStream to work with. */
export interface Server {
  readonly url: string;
  /** Stops it and removes what it stored, where it is ours. */
  stop(): Promise<void>;
}

/** The server that `NATS_URL` names, or else one of our own, by the `nats-server` on the PATH (`apt-get install nats-server`). */
export async function natsServer(): Promise<Server> {
  const url = process.env['NATS_URL'];
  return url === undefined ? own() : { url, stop: () => Promise.resolve() };
}

async function own(): Promise<Server> {
  const directory = await mkdtemp(join(tmpdir(), 'kreconciler-nats-'));
  const port = await freePort();
  // In a group of its own, so that a Ctrl-C in the terminal reaches us and not the server: it must hear our last acks.
  const child = spawn('nats-server', ['-js', '-sd', directory, '-a', '127.0.0.1', '-p', String(port)], { stdio: 'ignore', detached: true });
  const ended = new Promise<void>((resolve) => child.once('close', resolve));
  try {
    await once(child, 'spawn');
    await reachable(port);
  } catch (error) {
    throw new Error('No nats-server: install it (`apt-get install nats-server`), or name one by NATS_URL', { cause: error });
  }
  return {
    url: `nats://127.0.0.1:${String(port)}`,
    stop: async () => {
      child.kill();
      await ended;
      await rm(directory, { recursive: true, force: true });
    },
  };
}

async function reachable(port: number): Promise<void> {
  for (let attempts = 100; ; attempts--) {
    const socket = connect(port, '127.0.0.1');
    try {
      await once(socket, 'connect');
      return;
    } catch (error) {
      if (attempts === 0) throw error;
      await sleep(50);
    } finally {
      socket.destroy();
    }
  }
}
