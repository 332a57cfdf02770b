import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdtemp, rm, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { freePort } from '../../examples/postgres/database.js';
import { until } from './until.js';

/** A real etcd of our own. */
export interface EtcdServer {
  readonly url: string;
  /** Sends it a signal; 'SIGKILL' does not wait for its end, see {@link EtcdServer.start}. */
  readonly signal: (signal: NodeJS.Signals) => void;
  /** Starts it again after it has ended, on the same ports and with what it has stored. */
  readonly start: () => Promise<void>;
  /** Ends it in good order and starts it again. */
  readonly restart: () => Promise<void>;
  /** Ends it, and forgets what it has stored. */
  readonly stop: () => Promise<void>;
}

/** Whether Debian's package `etcd-server`, or another etcd, is installed. If not, one line says so. */
export const hasEtcd = isInstalled();

function isInstalled(): boolean {
  try {
    execFileSync('etcd', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    console.warn('Skipped, because there is no etcd: apt-get install etcd-server');
    return false;
  }
}

/** Starts as many members as asked for, as one cluster. */
export async function etcdCluster(size: number): Promise<EtcdServer[]> {
  const directory = await mkdtemp(join(tmpdir(), 'kreconciler-etcd-'));
  const ports: (readonly [client: number, peer: number])[] = [];
  for (let i = 0; i < size; i++) ports.push([await freePort(), await freePort()]);
  const cluster = ports.map(([, peer], i) => `m${i}=http://127.0.0.1:${peer}`).join(',');
  const members = ports.map(([client, peer], i) => member(join(directory, `m${i}`), `m${i}`, client, peer, cluster));
  await Promise.all(members.map(({ start }) => start()));
  return members;
}

/** Starts a server. */
export async function etcdServer(): Promise<EtcdServer> {
  return (await etcdCluster(1))[0]!;
}

function member(directory: string, name: string, client: number, peer: number, cluster: string): EtcdServer {
  const url = `http://127.0.0.1:${client}`;
  const peerUrl = `http://127.0.0.1:${peer}`;
  const flags: Record<string, string> = {
    name,
    'data-dir': directory,
    'listen-client-urls': url,
    'advertise-client-urls': url,
    'listen-peer-urls': peerUrl,
    'initial-advertise-peer-urls': peerUrl,
    'initial-cluster': cluster,
    'log-level': 'fatal',
    logger: 'zap',
  };
  let server: ChildProcess | undefined;
  const ended = async (): Promise<void> => {
    if (server === undefined || server.exitCode !== null || server.signalCode !== null) return;
    await new Promise((resolve) => server!.once('exit', resolve));
  };
  const start = async (): Promise<void> => {
    await ended();
    server = spawn('etcd', [...Object.entries(flags).map(([flag, value]) => `--${flag}=${value}`), '--unsafe-no-fsync'], {
      stdio: 'ignore',
    });
    await until('etcd answers', () => isHealthy(url));
  };
  const end = async (): Promise<void> => {
    server?.kill('SIGCONT');
    server?.kill('SIGTERM');
    await ended();
  };
  return {
    url,
    signal: (signal) => server?.kill(signal),
    start,
    restart: async () => {
      await end();
      await start();
    },
    stop: async () => {
      server?.kill('SIGKILL');
      await ended();
      await rm(directory, { recursive: true, force: true });
      // The folder of the cluster goes with its last member.
      await rmdir(dirname(directory)).catch(() => undefined);
    },
  };
}

async function isHealthy(url: string): Promise<boolean> {
  try {
    const response = await fetch(`${url}/health`, { signal: AbortSignal.timeout(1_000) });
    return ((await response.json()) as { health: string }).health === 'true';
  } catch {
    return false;
  }
}

/** etcd as a test sees it, past what is tested. */
export class EtcdView {
  constructor(readonly url: string) {}

  async ask<T>(path: string, body: object): Promise<T> {
    const response = await fetch(`${this.url}/v3/${path}`, { method: 'POST', body: JSON.stringify(body) });
    const answer = (await response.json()) as T;
    if (!response.ok) throw new Error(`${path}: ${JSON.stringify(answer)}`);
    return answer;
  }

  async put(key: string, value = ''): Promise<void> {
    await this.ask('kv/put', { key: btoa(key), value: btoa(value) });
  }

  async delete(key: string): Promise<void> {
    await this.ask('kv/deleterange', { key: btoa(key) });
  }

  /** The keys that begin with `prefix`, with what they hold. */
  async list(
    prefix: string,
  ): Promise<{ readonly key: string; readonly value: string; readonly revision: number; readonly lease: string }[]> {
    const end = prefix.slice(0, -1) + String.fromCharCode(prefix.charCodeAt(prefix.length - 1) + 1);
    type Kv = { readonly key: string; readonly value?: string; readonly create_revision: string; readonly lease?: string };
    const { kvs = [] } = await this.ask<{ kvs?: Kv[] }>('kv/range', { key: btoa(prefix), range_end: btoa(end) });
    return kvs.map(({ key, value = '', create_revision, lease = '' }) => ({
      key: atob(key),
      value: atob(value),
      revision: Number(create_revision),
      lease,
    }));
  }

  async revision(): Promise<number> {
    const { header } = await this.ask<{ header: { revision: string } }>('kv/range', { key: btoa('x') });
    return Number(header.revision);
  }

  /** Forgets all that was before the newest revision. */
  async compact(): Promise<void> {
    await this.ask('kv/compaction', { revision: String(await this.revision()), physical: true });
  }

  /** The ids of the leases there are. */
  async leases(): Promise<string[]> {
    const { leases = [] } = await this.ask<{ leases?: { ID: string }[] }>('lease/leases', {});
    return leases.map(({ ID }) => ID);
  }
}
