import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Case, Column } from '../case.js';
import { hash } from '../hash.js';
import { distinct } from '../ids.js';
import { halt } from '../race.js';

const RATE = 5000;
const WORKERS = 16;
const TAKES = 1;
const TIME_LIMIT = 100;

const COLUMNS: readonly Column[] = [
  { key: 'p99', label: 'p99 ms', digits: 2 },
  { key: 'p50', label: 'p50 ms', digits: 2 },
  { key: 'p999', label: 'p99.9 ms', digits: 2 },
  { key: 'loop', label: 'event-loop delay p99 ms', digits: 2 },
];

/** From the event to the start of its run, in ms. */
export function latency(hung?: string): Case {
  return {
    title: `5,000 events/s over 5,000 ids for 10 s, 16 workers, 1 ms a run${
      hung === undefined ? '' : `; \`${hung}\` hangs, time limit ${TIME_LIMIT} ms: the others of its lane`
    }`,
    needs: 'promise',
    columns: COLUMNS,
    baseline: 'fifo',
    async measure(load, scale) {
      const contender = await load();
      const ids = distinct(5000);
      const isWatched = (id: string): boolean => hung === undefined || (id !== hung && hash(id, WORKERS) === hash(hung, WORKERS));
      const pushedAt = new Map<string, number>();
      const took: number[] = [];
      const { push, close } = await contender.open(
        async (id) => {
          if (id === hung) await halt;
          const since = pushedAt.get(id);
          if (since !== undefined) took.push(performance.now() - since);
          pushedAt.delete(id);
          await sleep(TAKES);
        },
        { workerCount: WORKERS, workerHasher: hash, maxReconcileTime: hung === undefined ? undefined : TIME_LIMIT },
      );
      const delay = monitorEventLoopDelay({ resolution: 1 });
      delay.enable();
      const started = performance.now();
      const total = 10 * RATE * scale;
      let pushed = 0;
      while (pushed < total) {
        await sleep(1);
        const due = Math.min(total, ((performance.now() - started) * RATE) / 1000);
        for (; pushed < due; pushed++) {
          const id = ids[pushed % ids.length] as string;
          // An id that still waits for its run counts from its first event.
          if (isWatched(id) && !pushedAt.has(id)) pushedAt.set(id, performance.now());
          push(id);
        }
      }
      await sleep(2 * TIME_LIMIT);
      delay.disable();
      await close?.();
      // Whoever has not started by now is as late as this.
      for (const since of pushedAt.values()) took.push(performance.now() - since);
      took.sort((a, b) => a - b);
      const quantile = (q: number): number => took[Math.floor(q * (took.length - 1))] ?? NaN;
      return { p50: quantile(0.5), p99: quantile(0.99), p999: quantile(0.999), loop: delay.percentile(99) / 1e6 };
    },
  };
}
