/**
 * A replica whose reconciler waits 5 ms, for all ids again and again, or does nothing for want of ids. Says once a second how many runs have
 * ended, how much CPU it has used, in ms, and how many shards it owns.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { consoleLogger, Controller, observability, resync } from 'kreconciler';
import { shards } from 'kreconciler/postgres';

const ids = Array.from({ length: Number(process.env['IDS'] ?? 0) }, (_, i) => `row ${i}`);
const observed = observability({ logger: consoleLogger('error') });
const source = shards({
  connection: { connectionString: process.env['DATABASE_URL'] ?? '', application_name: process.env['REPLICA'] ?? '' },
  name: process.env['NAME'] ?? '',
  observability: observed,
});
let runs = 0;
const controller = new Controller(
  { shards: source, concurrency: 8, workerQueueSize: 10_000, delayQueueSize: 10_000, delayResolution: 10, observability: observed },
  async () => {
    await sleep(5);
    runs++;
    return { requeueDelay: 10 };
  },
  { all: (_, { acquired }) => resync({ every: 3_600_000, list: () => ids, relistOn: acquired, observability: observed }) },
);
const saying = setInterval(() => {
  const { user, system } = process.cpuUsage();
  console.log(JSON.stringify({ runs, cpu: (user + system) / 1_000, owned: controller.inspect().shards?.owned.length ?? 0 }));
}, 1_000);
const stop = new AbortController();
process.once('SIGTERM', () => stop.abort());
await controller.run(stop.signal);
clearInterval(saying);
