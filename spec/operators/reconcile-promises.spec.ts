import { type ReconcileConfig, reconcile, type Reconciler, RetryError, snapshots, type Step } from 'kreconciler/operators';
import { Subject, type Subscription } from 'rxjs';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { inWords } from '../support/rig.js';

/** Promises, on the default scheduler: what most users run, with only the clock of the platform replaced. */
describe('reconcile with promises', () => {
  let events: Subject<string>;
  let steps: Step[];
  let subscription: Subscription;

  beforeEach(() => {
    vi.useFakeTimers({ now: 1_700_000_000_000 });
    events = new Subject();
    steps = [];
  });
  afterEach(() => {
    subscription.unsubscribe();
    expect(vi.getTimerCount()).toBe(0);
    vi.useRealTimers();
  });

  const start = (reconciler: Reconciler, config: ReconcileConfig = {}): void => {
    subscription = events.pipe(reconcile(reconciler, config)).subscribe((step) => steps.push(step));
  };
  const told = (): string[] => steps.map(inWords);
  const sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(resolve, ms);
      signal?.addEventListener('abort', () => {
        clearTimeout(timer);
        reject(signal.reason as Error);
      });
    });

  test('should run one at a time, each when the one before it has settled', async () => {
    const log: string[] = [];
    start(async (id) => {
      log.push(`${id} begins`);
      await sleep(100);
      log.push(`${id} ends`);
    });
    for (const id of ['a', 'b', 'a']) events.next(id);
    await vi.advanceTimersByTimeAsync(1000);
    expect(log).toEqual(['a begins', 'a ends', 'b begins', 'b ends', 'a begins', 'a ends']);
    expect(steps.flatMap((step) => (step.kind === 'succeeded' ? step.took : []))).toEqual([100, 100, 100]);
  });

  test('should retry a rejection with the default backoff: about 250, 500, 1000, ... ms, at most a minute', async () => {
    start(
      async () => {
        throw new Error('no');
      },
      { maxItemRetries: 12 },
    );
    events.next('a');
    await vi.advanceTimersByTimeAsync(3_600_000);
    const starts = steps.flatMap((step) => (step.kind === 'started' ? step.at : []));
    expect(starts).toHaveLength(13);
    for (let i = 1; i < starts.length; i++) {
      const wait = starts[i]! - starts[i - 1]!;
      const ideal = Math.min(250 * 2 ** (i - 1), 60_000);
      expect(wait).toBeGreaterThanOrEqual(Math.max(250, ideal * 0.8));
      expect(wait).toBeLessThanOrEqual(Math.min(ideal * 1.2, 60_000) + 250);
    }
    expect(told().at(-1)).toBe('dropped a retries');
  });

  test('should wait as long as a RetryError says', async () => {
    start(async (_, { attempt }) => {
      if (attempt === 1) throw new RetryError('rate limited', 30_000);
    });
    events.next('a');
    await vi.advanceTimersByTimeAsync(29_999);
    expect(told()).toEqual(['enqueued a', 'started a', 'requeued a']);
    await vi.advanceTimersByTimeAsync(1);
    expect(told().at(-1)).toBe('succeeded a');
  });

  test('should poll by requeueDelay', async () => {
    start(async () => ({ requeueDelay: 60_000 }));
    events.next('a');
    await vi.advanceTimersByTimeAsync(24 * 3_600_000);
    expect(steps.filter(({ kind }) => kind === 'started')).toHaveLength(24 * 60 + 1);
    expect(vi.getTimerCount()).toBe(1);
  });

  test('should time out after 10 s by default, and go on at once when the reconciler heeds its signal', async () => {
    start((id, { signal }) => (id === 'a' ? sleep(3_600_000, signal) : undefined), { maxItemRetries: 0 });
    events.next('a');
    events.next('b');
    await vi.advanceTimersByTimeAsync(9999);
    expect(told()).toEqual(['enqueued a', 'started a', 'enqueued b']);
    await vi.advanceTimersByTimeAsync(1);
    expect(told().slice(3)).toEqual(['dropped a retries', 'abandoned a', 'started b', 'succeeded b', 'released a']);
  });

  test('should never have the timer of the timeout when nothing runs', async () => {
    start(async () => {
      await sleep(50);
    });
    events.next('a');
    expect(vi.getTimerCount()).toBe(2);
    await vi.advanceTimersByTimeAsync(50);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('should let what runs finish after a stop, and complete then', async () => {
    const stop = new Subject<void>();
    let completed = false;
    subscription = events
      .pipe(
        reconcile(
          async () => {
            await sleep(100);
          },
          { stop },
        ),
      )
      .subscribe({
        next: (step) => steps.push(step),
        complete: () => {
          completed = true;
        },
      });
    events.next('a');
    events.next('b');
    stop.next();
    await vi.advanceTimersByTimeAsync(99);
    expect(completed).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(completed).toBe(true);
    expect(told()).toEqual(['enqueued a', 'started a', 'enqueued b', 'dropped b stopped', 'succeeded a']);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('should give up after 30 s, by default, what does not heed its signal', async () => {
    const stop = new Subject<void>();
    let completed = false;
    subscription = events.pipe(reconcile(() => new Promise(() => {}), { stop, maxReconcileTime: 0 })).subscribe({
      complete: () => {
        completed = true;
      },
    });
    events.next('a');
    stop.next();
    await vi.advanceTimersByTimeAsync(29_999);
    expect(completed).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(completed).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('should keep the counts of snapshots right', async () => {
    const counts: string[] = [];
    subscription = events
      .pipe(
        reconcile(
          async (id) => {
            if (id === 'hangs') await sleep(100);
            else await sleep(1);
          },
          { maxReconcileTime: 10, maxItemRetries: 0 },
        ),
        snapshots(),
      )
      .subscribe(({ ready, running, waiting, abandoned }) => counts.push([ready, running, waiting, abandoned].join(' ')));
    events.next('hangs');
    events.next('b');
    await vi.advanceTimersByTimeAsync(200);
    expect(counts.at(-1)).toBe('0 0 0 0');
    expect(counts).toContain('0 1 0 1');
  });

  test('should run 1,000 promises of 100 ids in eight lanes, no id twice at once', async () => {
    const busy = new Set<string>();
    let overlaps = 0;
    let runs = 0;
    start(
      async (id) => {
        if (busy.has(id)) overlaps++;
        busy.add(id);
        runs++;
        await sleep(runs % 7);
        busy.delete(id);
      },
      { workerCount: 8 },
    );
    for (let i = 0; i < 1000; i++) {
      events.next(`${i % 100}`);
      if (i % 10 === 0) await vi.advanceTimersByTimeAsync(3);
    }
    await vi.advanceTimersByTimeAsync(1000);
    expect(overlaps).toBe(0);
    expect(runs).toBeGreaterThanOrEqual(100);
    expect(steps.filter(({ kind }) => kind === 'enqueued')).toHaveLength(runs);
  });
});
