import { setTimeout as sleep } from 'node:timers/promises';
import { CoreV1Api, KubeConfig } from '@kubernetes/client-node';
import { Controller, noopLogger, observability } from 'kreconciler';
import { started } from '../support/started.js';
import { informer } from './informer.js';
import { kubernetesStandIn } from './stand-in.js';

const begin = started(`
The config maps of a namespace of Kubernetes.

  npm run example:kubernetes                      a stand-in for an API server, whose watches end now and then
  KUBECONFIG=~/.kube/config npm run example:kubernetes   a cluster of yours, whose namespace \`default\` is read only`);

const standIn = process.env['KUBECONFIG'] === undefined ? await kubernetesStandIn() : undefined;
const kubeConfig = standIn?.kubeConfig ?? new KubeConfig();
if (standIn === undefined) kubeConfig.loadFromDefault();
console.log(`Kubernetes: ${standIn === undefined ? (kubeConfig.getCurrentCluster()?.server ?? '') : 'a stand-in'}`);
const signal = begin();

const controller = new Controller(
  { leaderElectionEnabled: false, observability: observability({ logger: noopLogger }) },
  (id) => console.log(`${id} ${String(standIn?.objects.get(id.slice('default/'.length)) ?? 0)}`),
  {
    configMaps: informer({
      kubeConfig,
      path: '/api/v1/namespaces/default/configmaps',
      list: (own) => own.makeApiClient(CoreV1Api).listNamespacedConfigMap({ namespace: 'default' }),
    }),
  },
);

async function write(): Promise<void> {
  for (let count = 1; standIn !== undefined && !signal.aborted; count++) {
    standIn.write(['web', 'api', 'worker'][count % 3] as string);
    if (count % 10 === 0) standIn.end();
    await sleep(200);
  }
}

await Promise.all([controller.run(signal), write()]);
standIn?.stop();
