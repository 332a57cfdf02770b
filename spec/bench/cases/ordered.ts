import type { Case, Figures } from '../case.js';
import type { Contender } from '../contender.js';
import { distinct } from '../ids.js';
import { halt, Race } from '../race.js';
import { RATE } from '../stopwatch.js';

/**
 * All ids are ready before the first one runs, spread over 1,000 priorities or keys: see `rankOf`. No patience is lost while they run: those
 * that take long to queue them would be measured by that alone.
 *
 * @param times - how often all of it is done, the first half of them to warm up the code
 */
export function ordered(count: number, times = 1): Case {
  return {
    title: `${count.toLocaleString('en')} ids queued at once${times > 1 ? `, ${times} times` : ''}, over 1,000 priorities or keys, 1 worker`,
    needs: 'ordered',
    columns: RATE,
    layers: true,
    baseline: 'kreconciler',
    limit: 30,
    async measure(load, scale) {
      const contender = await load();
      const ids = distinct(count * scale);
      const taken: Figures[] = [];
      for (let i = 0; i < times; i++) taken.push(await atOnce(contender, ids));
      const warm = taken.slice(times >> 1);
      return Object.fromEntries(RATE.map(({ key }) => [key, warm.reduce((sum, figures) => sum + (figures[key] ?? NaN), 0) / warm.length]));
    },
  };
}

async function atOnce(contender: Contender, ids: readonly string[]): Promise<Figures> {
  const { push } = await contender.open(
    async () => {
      if (!race.goesOn()) await halt;
    },
    { workerQueueSize: Infinity },
  );
  const race = new Race(ids.length, Infinity);
  for (const id of ids) push(id);
  return race.finished;
}
