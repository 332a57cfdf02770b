import type { Case, Figures } from '../case.js';
import type { Contender } from '../contender.js';
import { distinct } from '../ids.js';
import { halt, Race } from '../race.js';
import { RATE } from '../stopwatch.js';

export const burst: Case = {
  title: '1,000,000 ids queued at once, 1 worker',
  needs: 'promise',
  columns: RATE,
  baseline: 'fastq',
  async measure(load, scale) {
    const contender = await load();
    const ids = distinct(1e6 * scale);
    await atOnce(contender, ids.slice(0, 1e4));
    return atOnce(contender, ids);
  },
};

async function atOnce(contender: Contender, ids: readonly string[]): Promise<Figures> {
  const { push } = await contender.open(
    async () => {
      if (!race.goesOn()) await halt;
    },
    { workerQueueSize: Infinity },
  );
  const race = new Race(ids.length);
  for (const id of ids) push(id);
  return race.finished;
}
