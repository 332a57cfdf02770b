import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import type { Admin } from 'kafkajs';
import { freePort, type Server, startServer } from '../support/server.js';

/** A broker to work with. */
export interface Broker {
  readonly brokers: readonly string[];
  /** What it is, to be said where it is used. */
  readonly kind: string;
  /** Where it is a real one of ours, that may be killed and frozen. */
  readonly server?: Server;
  readonly makeTopics: (admin: Admin, ...topics: readonly { readonly topic: string; readonly numPartitions: number }[]) => Promise<unknown>;
  readonly stop: () => Promise<void>;
}

const run = promisify(execFile);
const JARS = join(import.meta.dirname, 'node_modules', '.jars');

/**
 * The brokers that `KAFKA_BROKERS` names; else one of our own in KRaft mode, out of Maven Central, where there are `java` and
 * `mvn`; else the cluster that librdkafka keeps in memory for tests, by the `kcat` on the PATH, which is a stand-in.
 */
export async function broker(): Promise<Broker> {
  const brokers = process.env['KAFKA_BROKERS'];
  if (brokers !== undefined)
    return { brokers: brokers.split(','), kind: 'the brokers that KAFKA_BROKERS names', makeTopics, stop: () => Promise.resolve() };
  return (await hasJars()) ? own() : standIn();
}

const makeTopics: Broker['makeTopics'] = (admin, ...topics) => admin.createTopics({ topics: [...topics] });

async function hasJars(): Promise<boolean> {
  if (existsSync(JARS)) return true;
  try {
    await run('java', ['-version']);
    await run('mvn', ['-q', '-B', 'dependency:copy-dependencies', `-DoutputDirectory=${JARS}.part`, '-DincludeScope=runtime'], {
      cwd: import.meta.dirname,
    });
    await rename(`${JARS}.part`, JARS);
    return true;
  } catch {
    return false;
  }
}

async function own(): Promise<Broker> {
  const controller = await freePort();
  const java = ['-Xmx256m', '-XX:TieredStopAtLevel=1', '-cp', join(JARS, '*')];
  const properties = (port: number, directory: string): string =>
    [
      'process.roles=broker,controller',
      'node.id=1',
      `controller.quorum.voters=1@127.0.0.1:${String(controller)}`,
      `listeners=PLAINTEXT://127.0.0.1:${String(port)},CONTROLLER://127.0.0.1:${String(controller)}`,
      `advertised.listeners=PLAINTEXT://127.0.0.1:${String(port)}`,
      'controller.listener.names=CONTROLLER',
      `log.dirs=${join(directory, 'data')}`,
      'offsets.topic.replication.factor=1',
      'offsets.topic.num.partitions=1',
      'group.initial.rebalance.delay.ms=0',
      'group.min.session.timeout.ms=1000',
    ].join('\n');
  // A shell, for the folder has to be formatted before the broker takes it.
  const script =
    'set -e; [ -e "$1/data/meta.properties" ] || java "${@:2}" kafka.tools.StorageTool format -t MkU3OEVBNTcwNTJENDM2Qg -c "$1/properties"; exec java "${@:2}" kafka.Kafka "$1/properties"';
  const server = await startServer(
    'kafka',
    async (port, directory) => {
      await writeFile(join(directory, 'properties'), properties(port, directory));
      return { command: 'bash', args: ['-c', script, 'kafka', directory, ...java] };
    },
    'a JDK of 17 or later is needed, or brokers by KAFKA_BROKERS',
  );
  return {
    brokers: [`127.0.0.1:${String(server.port)}`],
    kind: 'a Kafka 4.1 broker in KRaft mode',
    server,
    makeTopics,
    stop: () => server.stop(),
  };
}

async function standIn(): Promise<Broker> {
  const child = spawn('kcat', ['-C', '-b', 'ignored', '-t', 'none', '-X', 'test.mock.num.brokers=1', '-d', 'mock'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  process.once('exit', () => child.kill());
  await once(child, 'spawn').catch((error: unknown) => {
    throw new Error('No Kafka: install a JDK and Maven, or `apt-get install kcat`, or name brokers by KAFKA_BROKERS', { cause: error });
  });
  for await (const line of createInterface({ input: child.stderr })) {
    const [, address] = /bootstrap\.servers=(\S+)/.exec(line) ?? [];
    if (address === undefined) continue;
    child.stderr.resume();
    return {
      brokers: [address],
      kind: "a stand-in: librdkafka's cluster in memory",
      // It makes each topic that it is asked about, with four partitions.
      makeTopics: (admin, ...topics) => admin.fetchTopicMetadata({ topics: topics.map(({ topic }) => topic) }),
      stop: () => Promise.resolve(void child.kill()),
    };
  }
  throw new Error('kcat ended without the address of its cluster');
}
