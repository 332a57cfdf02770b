import { setTimeout as sleep } from 'node:timers/promises';
import { Controller, noopLogger, observability } from 'kreconciler';
import { started } from '../support/started.js';
import { nomadEvents } from './nomad.js';
import { nomadStandIn } from './stand-in.js';

const begin = started(`
The event stream of Nomad, of its jobs.

  npm run example:nomad                                          a stand-in for a server, which breaks off now and then
  NOMAD_ADDR=http://... NOMAD_TOKEN=... npm run example:nomad    a server of yours, which is read only`);

const own = process.env['NOMAD_ADDR'] === undefined ? await nomadStandIn({ token: 'secret', heartbeat: 1_000 }) : undefined;
const address = own?.address ?? process.env['NOMAD_ADDR'] ?? '';
const token = own === undefined ? (process.env['NOMAD_TOKEN'] ?? '') : 'secret';
console.log(`Nomad: ${own === undefined ? address : 'a stand-in'}`);
const signal = begin();

const controller = new Controller(
  { leaderElectionEnabled: false, observability: observability({ logger: noopLogger }) },
  async (id, context) => {
    const response = await fetch(`${address}/v1/job/${encodeURIComponent(id)}`, {
      headers: { 'X-Nomad-Token': token },
      signal: context.signal,
    });
    console.log(`${id}: ${String(own?.jobs.get(id) ?? response.status)}`);
  },
  {
    jobs: nomadEvents({
      address,
      token,
      topics: ['Job'],
      idOf: ({ Key }) => Key,
      list: async () => {
        const response = await fetch(`${address}/v1/jobs?namespace=*`, {
          headers: { 'X-Nomad-Token': token },
          signal: AbortSignal.timeout(10_000),
        });
        if (!response.ok) throw new Error(`Listing jobs: ${String(response.status)}`);
        return ((await response.json()) as readonly { readonly ID: string }[]).map(({ ID }) => ID);
      },
    }),
  },
);

async function deploy(): Promise<void> {
  for (let count = 1; own !== undefined && !signal.aborted; count++) {
    own.change(['web', 'api', 'worker'][count % 3] as string);
    if (count % 10 === 0) own.cut();
    await sleep(200);
  }
}

await Promise.all([controller.run(signal), deploy()]);
own?.stop();
