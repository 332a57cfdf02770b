import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** A server of our own, on a port of 127.0.0.1, and what may happen to it. */
export interface Server {
  readonly port: number;
  /** SIGKILL: it is gone without a word. Resolves when its port is closed. */
  kill(): Promise<void>;
  /** Starts it again, with what it had stored. Resolves when it listens. */
  restart(): Promise<void>;
  /** SIGSTOP: its connections stay open, and nothing comes over them. */
  freeze(): void;
  thaw(): void;
  /** Ends it, and removes what it stored. */
  stop(): Promise<void>;
}

/** How a {@link Server} is started: `directory` is its own, and empty at first. */
export type Command = (port: number, directory: string) => Invocation | Promise<Invocation>;

interface Invocation {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
}

/**
 * Starts a server and waits until it listens.
 *
 * @param hint what to do where there is none
 */
export async function startServer(name: string, command: Command, hint: string): Promise<Server> {
  const directory = await mkdtemp(join(tmpdir(), `kreconciler-${name}-`));
  const port = await freePort();
  let child: ChildProcess;
  const signal = (signal: NodeJS.Signals): void => {
    // The whole group: some servers are a script that starts another process.
    if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) process.kill(-child.pid, signal);
  };
  const restart = async (): Promise<void> => {
    const { command: file, args, env } = await command(port, directory);
    // In a group of its own, so that a Ctrl-C in the terminal reaches us and not the server: it must hear our last acks.
    child = spawn(file, args, { stdio: 'ignore', detached: true, env: { ...process.env, ...env } });
    // It does not keep us alive: an example ends when all else is let go, and then stops its server.
    child.unref();
    try {
      await once(child, 'spawn');
      await listening(port, child);
    } catch (error) {
      signal('SIGKILL');
      throw new Error(`No ${name}: ${hint}`, { cause: error });
    }
  };
  const kill = async (): Promise<void> => {
    const closed = once(child, 'close');
    child.ref();
    signal('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await closed;
  };
  process.on('exit', () => signal('SIGKILL'));
  await restart();
  return {
    port,
    kill,
    restart,
    freeze: () => signal('SIGSTOP'),
    thaw: () => signal('SIGCONT'),
    stop: async () => {
      await kill();
      await rm(directory, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** A port that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

async function listening(port: number, child: ChildProcess): Promise<void> {
  for (let attempts = 2_400; ; attempts--) {
    const socket = connect(port, '127.0.0.1');
    try {
      await once(socket, 'connect');
      return;
    } catch (error) {
      if (attempts === 0 || child.exitCode !== null || child.signalCode !== null) throw error;
      await sleep(50);
    } finally {
      socket.destroy();
    }
  }
}
