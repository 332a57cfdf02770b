import { describe, expect, it, vi } from 'vitest';
import { Controller, type ControllerContext, noopLogger, observability } from 'kreconciler';
import * as etcd from 'kreconciler/etcd';
import { EtcdStandIn } from '../../support/etcd-stand-in.js';
import { ran } from '../../support/readmes.js';

describe('lib/etcd/README.md', () => {
  it('should show a replica that leads, lists all keys, and hears what is written', async () => {
    const { fetch, ...standIn } = spied(new EtcdStandIn());
    const config = { fetch, observability: observability({ logger: noopLogger }) };
    const heard: { id: string; term: number | undefined }[] = [];
    const stop = new AbortController();
    standIn.put('zones/eu');
    const running = ran(
      'etcd',
      {
        reconciler: (id: string, { term }: ControllerContext) => void heard.push({ id, term }),
        signal: stop.signal,
      },
      [],
      {
        kreconciler: {
          Controller: class extends Controller {
            constructor(...[given, ...rest]: ConstructorParameters<typeof Controller>) {
              super({ ...given, observability: config.observability }, ...rest);
            }
          },
        },
        'kreconciler/etcd': {
          leadership: (given: etcd.LeadershipConfig) => etcd.leadership({ ...given, ...config }),
          keys: (given: etcd.KeysConfig) => etcd.keys({ ...given, ...config }),
        },
      },
    );
    await vi.waitFor(() => expect(heard).toEqual([{ id: 'eu', term: standIn.term() }]), { timeout: 30_000 });
    // The stand-in forgets what was written before it is watched.
    await vi.waitFor(
      () => {
        standIn.put('zones/us');
        expect(heard).toContainEqual({ id: 'us', term: standIn.term() });
      },
      { timeout: 30_000 },
    );
    stop.abort();
    await running;
  });

  function spied(standIn: EtcdStandIn) {
    return {
      fetch: standIn.fetch,
      put: (key: string) => standIn.put(key),
      term: () => standIn.list('kreconciler/leadership/')['dns'],
    };
  }
});
