import { NEVER, of, Subject } from 'rxjs';
import { expect, it, vi } from 'vitest';
import { Controller, type ControllerContext } from 'kreconciler';
import { logged } from '../support/logged.js';
import { meteredSdk, series, total } from '../support/metered.js';
import { tracedSdk } from '../support/traced.js';

it('should measure, trace and log, and give the reconciler a logger bound to its span', async () => {
  const metrics = meteredSdk();
  const traces = tracedSdk();
  const { logger, lines } = logged();
  const reconciler = (_: string, context: ControllerContext): void => {
    context.logger.info('hello');
  };
  const observability = { logger, meterProvider: metrics.provider, tracerProvider: traces.provider };
  const config = { name: 'zones', leaderElectionEnabled: false, workerName: (worker: number) => `lane ${worker}`, observability };
  await new Controller(config, reconciler, { files: of('x') }).run();
  const all = await metrics.collect();
  expect(series(all, 'kreconciler_stream_event_count')).toEqual([
    { attributes: { controller: 'zones', stream: 'files', error: false }, value: 1 },
  ]);
  expect(series(all, 'kreconciler_dequeue')).toEqual([
    { attributes: { controller: 'zones', workerId: 0, workerName: 'lane 0' }, value: 1 },
  ]);
  const [handle, root] = traces.spans();
  expect(root).toMatchObject({ name: 'reconcile', attributes: { id: 'x', stream: 'files' } });
  const { traceId, spanId } = handle!.spanContext();
  expect(lines).toContainEqual(['info', 'hello', { controller: 'zones', id: 'x', worker: 0, attempt: 1, traceId, spanId }]);
});

it('should measure whether it leads', async () => {
  const metrics = meteredSdk();
  const controller = new Controller({ observability: { logger: logged().logger, meterProvider: metrics.provider } }, () => undefined, {
    files: NEVER,
  });
  const stop = new AbortController();
  const done = controller.run(stop.signal);
  const leader = async (): Promise<number> => total(await metrics.collect(), 'kreconciler_leader');
  const seen = [await leader()];
  controller.becomeLeader();
  seen.push(await leader());
  controller.stepDown();
  seen.push(await leader());
  controller.becomeLeader();
  seen.push(await leader());
  stop.abort();
  await done;
  seen.push(await leader());
  expect(seen).toEqual([0, 1, 0, 1, 0]);
});

it('should log as an error what ends it', async () => {
  const { logger, lines } = logged();
  const files = new Subject<string>();
  const done = new Controller({ leaderElectionEnabled: false, observability: { logger } }, () => undefined, { files }).run();
  files.error(new Error('boom'));
  await expect(done).rejects.toThrow('Event stream `files` failed: boom');
  expect(lines).toEqual([
    ['error', 'the loop has failed', { error: expect.objectContaining({ message: 'Event stream `files` failed: boom' }) as Error }],
  ]);
});

it('should measure which streams are up, how often they were started, and for how long they have been silent', async () => {
  vi.useFakeTimers({ now: 0 });
  const metrics = meteredSdk();
  const changes = new Subject<string>();
  const observability = { logger: logged().logger, meterProvider: metrics.provider };
  const controller = new Controller({ name: 'zones', observability }, () => undefined, { changes, boot: of('apple') });
  const stop = new AbortController();
  const done = controller.run(stop.signal);
  const streams = async (name: string): Promise<Record<string, number>> =>
    Object.fromEntries(
      series(await metrics.collect(), `kreconciler_stream_${name}`).map(({ attributes, value }) => [attributes['stream'], value]),
    ) as Record<string, number>;
  expect(await streams('up')).toEqual({});
  controller.becomeLeader();
  vi.setSystemTime(5_000);
  expect(await streams('up')).toEqual({ changes: 1, boot: 0 });
  expect(await streams('silence_millis')).toEqual({ changes: 5_000 });
  changes.next('pear');
  vi.setSystemTime(7_000);
  expect(await streams('silence_millis')).toEqual({ changes: 2_000 });
  controller.stepDown();
  expect(await streams('up')).toEqual({ changes: 0, boot: 0 });
  controller.becomeLeader();
  expect(await streams('up')).toEqual({ changes: 1, boot: 0 });
  expect(await streams('start_count')).toEqual({ changes: 2, boot: 2 });
  stop.abort();
  await done;
  vi.useRealTimers();
});
