import type { Case } from '../case.js';
import { distinct } from '../ids.js';
import { halt, Race } from '../race.js';
import { RATE } from '../stopwatch.js';

/**
 * All ids are ready before the first one runs, spread over 1,000 priorities or keys: see `rankOf`. No patience is lost while they run: those
 * that take long to queue them would be measured by that alone.
 */
export function ordered(count: number): Case {
  return {
    title: `${count.toLocaleString('en')} ids queued at once, over 1,000 priorities or keys, 1 worker`,
    needs: 'ordered',
    columns: RATE,
    layers: true,
    baseline: 'kreconciler',
    limit: 30,
    async measure(load, scale) {
      const contender = await load();
      const ids = distinct(count * scale);
      const { push } = await contender.open(
        async () => {
          if (!race.goesOn()) await halt;
        },
        { workerQueueSize: Infinity },
      );
      const race = new Race(ids.length, Infinity);
      for (const id of ids) push(id);
      return race.finished;
    },
  };
}
