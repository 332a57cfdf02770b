import { setTimeout as sleep } from 'node:timers/promises';
import { CoreV1Api } from '@kubernetes/client-node';
import { constant, Controller, exponential, noopLogger, observability } from 'kreconciler';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { informer, type InformerConfig } from './informer.js';
import { kubernetesStandIn, type StandIn } from './stand-in.js';

const SILENCE = 400;

const listAll: InformerConfig<object>['list'] = (kubeConfig) =>
  kubeConfig.makeApiClient(CoreV1Api).listNamespacedConfigMap({ namespace: 'default' });

describe('an informer of Kubernetes, against a stand-in', () => {
  let kubernetes: StandIn;
  const actual = new Map<string, number>();
  const stops: (() => Promise<void>)[] = [];
  const nameOf = (id: string) => id.slice('default/'.length);

  beforeEach(async () => {
    kubernetes = await kubernetesStandIn({ bookmark: 100 });
  });
  afterEach(async () => {
    await Promise.all(stops.splice(0).map((stop) => stop()));
    kubernetes.stop();
    actual.clear();
  });

  function start(config: Partial<InformerConfig<object>> = {}): () => Promise<void> {
    const { kubeConfig } = kubernetes;
    const configMaps = informer({
      kubeConfig,
      path: '/api/v1/namespaces/default/configmaps',
      list: listAll,
      silence: SILENCE,
      backoff: constant(50),
      ...config,
    });
    const reconciler = (id: string) => {
      const version = kubernetes.objects.get(nameOf(id));
      if (version === undefined) actual.delete(nameOf(id));
      else actual.set(nameOf(id), version);
    };
    const controller = new Controller({ leaderElectionEnabled: false, observability: observability({ logger: noopLogger }) }, reconciler, {
      configMaps,
    });
    const stop = new AbortController();
    const ended = controller.run(stop.signal);
    const stopped = async () => {
      stop.abort();
      await ended;
    };
    stops.push(stopped);
    return stopped;
  }
  const isRight = () => expect(Object.fromEntries(actual)).toEqual(Object.fromEntries(kubernetes.objects));
  const eventually = (assertion: () => unknown) => vi.waitFor(assertion, { timeout: 90_000, interval: 20 });
  const asked = () => ({ lists: kubernetes.asked.lists.length, watches: kubernetes.asked.watches.length });
  async function settled(): Promise<void> {
    for (const name of ['one', 'two', 'three']) kubernetes.write(name);
    start();
    await eventually(isRight);
    await eventually(() => expect(asked()).toEqual({ lists: 1, watches: 1 }));
  }

  it('should list, and hear then what is made, changed and deleted', async () => {
    await settled();
    kubernetes.write('four');
    kubernetes.write('two');
    kubernetes.remove('three');
    await eventually(isRight);
    await sleep(2 * SILENCE);
    expect(asked()).toEqual({ lists: 1, watches: 1 });
  });

  it('should hear of what was deleted while no watch was open', async () => {
    await settled();
    kubernetes.cut();
    kubernetes.remove('two');
    await eventually(isRight);
    expect(asked().lists).toBe(2);
  });

  it.each(['as the status of the watch', 'as an event of the watch'])(
    'should list again when its version has expired: 410 %s',
    async (how) => {
      await settled();
      let isLate = true;
      await Promise.all(stops.splice(0).map((stop) => stop()));
      start({
        list: async (kubeConfig) => {
          const objects = await listAll(kubeConfig);
          // Between the list and the watch.
          if (isLate) kubernetes.compact();
          if (isLate && how.startsWith('as an event')) kubernetes.expire();
          isLate = false;
          kubernetes.write('four');
          return objects;
        },
      });
      await eventually(() => expect(asked()).toEqual({ lists: 3, watches: 3 }));
      await eventually(isRight);
    },
  );

  it('should list again after silence, which a bookmark ends', async () => {
    await settled();
    kubernetes.silence();
    kubernetes.write('two');
    await sleep(2 * SILENCE);
    expect(asked().lists).toBeGreaterThan(1);
    kubernetes.speak();
    await eventually(isRight);
  });

  it('should not storm a server that ends each watch at once', async () => {
    await settled();
    const before = asked().watches;
    kubernetes.end(1_000);
    await sleep(1_000);
    expect(asked().watches - before).toBeLessThanOrEqual(20);
    kubernetes.write('two');
    await eventually(isRight);
  });

  it('should spread the lists of replicas that hear the same end', async () => {
    for (let replica = 0; replica < 20; replica++) start({ backoff: exponential({ initial: 1_000, jitter: 0.9 }), silence: 10_000 });
    await eventually(() => expect(asked().watches).toBe(20));
    kubernetes.end();
    await eventually(() => expect(asked().lists).toBe(40));
    const lists = kubernetes.asked.lists.slice(20);
    expect(Math.max(...lists) - Math.min(...lists)).toBeGreaterThan(500);
  });

  it('should lose no id to ends, cuts, silence and expired versions', async () => {
    start();
    for (let count = 1; count <= 3_000; count++) {
      const name = `name-${Math.floor(300 * Math.random())}`;
      if (Math.random() < 0.2) kubernetes.remove(name);
      else kubernetes.write(name);
      if (count % 400 === 100) kubernetes.end();
      if (count % 400 === 150) kubernetes.cut();
      if (count % 400 === 200) kubernetes.silence();
      if (count % 400 === 399) kubernetes.speak();
      if (count % 70 === 0) kubernetes.compact();
      if (count % 2 === 0) await sleep(5);
    }
    kubernetes.speak();
    await eventually(isRight);
    expect(asked().lists).toBeGreaterThan(10);
  });

  it.each(['it is open', 'it is silent'])('should let go of its connections while %s', async (when) => {
    await settled();
    if (when === 'it is silent') {
      kubernetes.silence();
      await eventually(() => expect(asked().lists).toBeGreaterThan(2));
    }
    await Promise.all(stops.splice(0).map((stop) => stop()));
    const before = asked();
    await sleep(2 * SILENCE);
    expect(asked()).toEqual(before);
    expect(await kubernetes.connected()).toBe(0);
  });
});
