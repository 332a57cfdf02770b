import { onTestFinished } from 'vitest';
import { Subject } from 'rxjs';
import { constant, Controller, type ControllerContext, noopLogger, observability, type Reconciler, type Trigger } from 'kreconciler';
import { view, type ViewConfig } from 'kreconciler/view';

export const ORIGIN = 'http://localhost:8080';

/** What the page itself sends when something is to be changed. */
export const FROM_PAGE = { 'x-kreconciler': '1', 'sec-fetch-site': 'same-origin' };

/** A loop that runs to the end of the test, in which `pear` always fails, and its view at `/admin`. */
export function viewed(config: ViewConfig = {}, loop: object = {}, reconciler?: Reconciler<ControllerContext>) {
  const changes = new Subject<string | Trigger>();
  const rot: Reconciler<ControllerContext> = (id) => {
    if (id === 'pear') throw new Error('rotten');
  };
  const controller = new Controller(
    {
      leaderElectionEnabled: false,
      backoff: constant(60_000),
      workerQueueSize: Infinity,
      shutdownGrace: 0,
      observability: observability({ logger: noopLogger }),
      ...loop,
    },
    reconciler ?? rot,
    { changes },
  );
  const stop = new AbortController();
  const run = controller.run(stop.signal);
  onTestFinished(async () => {
    stop.abort();
    await run;
  });
  const fetched = view({ orchard: controller }, { base: '/admin', ...config });
  const get = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
    fetched(new Request(`${ORIGIN}/admin${path}`, { headers }));
  const getJson = async (path: string): Promise<Record<string, unknown>> => (await (await get(path)).json()) as Record<string, unknown>;
  const post = (path: string, body: unknown, headers: Record<string, string> = FROM_PAGE): Promise<Response> =>
    fetched(
      new Request(`${ORIGIN}/admin${path}`, { method: 'POST', body: typeof body === 'string' ? body : JSON.stringify(body), headers }),
    );
  return { controller, changes, stop, run, fetched, get, getJson, post };
}
