/** One replica: keeps real processes as the table `services` says, while it leads. Started by main.ts. */
import { realpathSync } from 'node:fs';
import pg from 'pg';
import { filter, map, tap } from 'rxjs';
import { consoleLogger, Controller, exponential, observability, resync } from 'kreconciler';
import { leadership, notifications } from 'kreconciler/postgres';
import { OsProcesses } from '../supervisor/os-processes.js';
import { describe } from '../supervisor/print.js';
import { type Status, supervise } from '../supervisor/reconciler.js';
import { openState, shortHash } from '../supervisor/state.js';
import { fenced, LEADERSHIP, report, services } from './tables.js';

const [, , url = '', name = '', directory = '', folder = ''] = process.argv;
const state = openState(directory);
const pool = new pg.Pool({ connectionString: url, application_name: name, connectionTimeoutMillis: 2_000, query_timeout: 5_000 });
// A client that breaks while it idles is replaced by the pool.
pool.on('error', () => undefined);

const desired = services(pool, realpathSync(folder));
/** Made anew in each term: what runs was started, or stopped, by the leaders in between. */
let processes: OsProcesses;

const telemetry = observability({ logger: consoleLogger('warn') });
const GRACE = 3_000;

const controller = new Controller(
  {
    leader: leadership({ connection: url, name: LEADERSHIP, observability: telemetry }).pipe(
      tap((leads) =>
        console.log(
          leads === false ? `stands by, pid ${String(process.pid)}` : `leads, term ${String(leads.term)}, pid ${String(process.pid)}`,
        ),
      ),
    ),
    workerCount: 4,
    maxItemRetries: Infinity,
    backoff: exponential({ initial: 500, max: 30_000 }),
    maxReconcileTime: GRACE + 20_000,
    observability: telemetry,
  },
  async (id, context) => {
    const term = context.term ?? 0;
    let status: Status | undefined;
    const tell = (now: Status) => {
      status = now;
    };
    try {
      await supervise({ services: desired, processes: fenced(pool, term, processes), tell })(id, context);
    } finally {
      if (status !== undefined) await report(pool, name, term, status);
    }
  },
  {
    exits: () => {
      processes = new OsProcesses({ state, name: shortHash(state), grace: GRACE });
      return processes.deaths.pipe(
        filter(({ early }) => !early),
        map(({ process }) => process.id),
      );
    },
    changes: notifications({ connection: url, channel: 'services', list: () => desired.ids(), observability: telemetry }),
    // Also what runs and is wanted no more: no event names a row that was deleted meanwhile.
    resync: resync({ every: 10_000, list: async () => [...(await desired.ids()), ...processes.ids()], observability: telemetry }),
  },
);

controller.steps.subscribe((step) => console.log(describe(step)));

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop.abort());
// Whoever reads what we print has gone, and with it the one who would stop us.
process.stdout.on('error', () => stop.abort());

await controller.run(stop.signal);
await pool.end();
console.log('has stepped down');
// What it has started goes on, for the next leader, and must not keep it here.
process.exit();
