import { VirtualTimeScheduler } from 'rxjs';
import type { Case, Figures } from '../case.js';
import type { Contender } from '../contender.js';
import { distinct } from '../ids.js';
import { Stopwatch } from '../stopwatch.js';

const LONGEST = 5000;
const RESOLUTION = 250;
const ERROR = new Error('the first run of each id');

/** Each id fails once and is retried within 5 s of virtual time, with `waiting` of them waiting at once. */
export function retries(waiting: number): Case {
  return {
    baseline: 'fifo',
    title: `each id fails once, random delays up to 5 s (virtual time), ${waiting.toLocaleString('en')} waiting`,
    needs: 'retry',
    columns: [
      { key: 'cpu', label: 'CPU us a retry', digits: 2 },
      { key: 'timers', label: 'native timers at most', digits: 0 },
    ],
    async measure(load, scale) {
      const contender = await load();
      // A quick look has fewer of them waiting.
      const ids = distinct(Math.max(1000, waiting * Math.min(1, 5 * scale)));
      const rounds = Math.ceil((1e6 * scale) / waiting);
      for (let i = 0; i < (1e5 * scale) / waiting; i++) await failOnce(contender, ids.slice(0, 1e5));
      let cpu = 0;
      let timers = 0;
      for (let i = 0; i < rounds; i++) {
        const figures = await failOnce(contender, ids);
        cpu += figures.cpu / rounds;
        timers = Math.max(timers, figures.timers);
      }
      return { cpu, timers };
    },
  };
}

async function failOnce(contender: Contender, ids: readonly string[]): Promise<Figures & { cpu: number; timers: number }> {
  const scheduler = new VirtualTimeScheduler();
  let succeeded = 0;
  let timers = 0;
  const { push } = await contender.open(
    async (_, context) => {
      if (context?.attempt === 1) throw ERROR;
      succeeded++;
    },
    {
      scheduler,
      delayResolution: RESOLUTION,
      backoff: () => Math.random() * LONGEST,
      workerQueueSize: Infinity,
      delayQueueSize: Infinity,
      // Its watchdog would be a timer too.
      maxReconcileTime: 0,
    },
  );
  const stopwatch = new Stopwatch();
  for (const id of ids) push(id);
  while (succeeded < ids.length) {
    // All promises are settled when the event loop comes round; then time goes on by one tick.
    await new Promise(setImmediate);
    timers = Math.max(timers, scheduler.actions.length);
    scheduler.maxFrames += RESOLUTION;
    scheduler.flush();
  }
  return { cpu: stopwatch.cpu / ids.length, timers };
}
