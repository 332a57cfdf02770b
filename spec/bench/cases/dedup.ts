import type { Case, Figures } from '../case.js';
import type { Contender } from '../contender.js';
import { distinct } from '../ids.js';
import { halt, WARM_UP } from '../race.js';
import { RATE, Stopwatch } from '../stopwatch.js';

const CHUNK = 10_000;

/** Microseconds of CPU time an event. Who takes longer is not waited for. */
const PATIENCE = 0.5;

export const dedup: Case = {
  title: '10,000,000 events over 1,000 ids, 10,000 at a time, 1 worker (who cannot dedup runs them all)',
  needs: 'promise',
  columns: RATE,
  baseline: 'fastq',
  async measure(load, scale) {
    const contender = await load();
    await events(contender, 1e5);
    return events(contender, 1e7 * scale);
  },
};

async function events(contender: Contender, count: number): Promise<Figures> {
  const ids = distinct(1000);
  const stopwatch = new Stopwatch();
  const isPatient = (): boolean => stopwatch.cpu < Math.max(PATIENCE * count, WARM_UP);
  let runs = 0;
  let drained = (): void => {};
  const { push } = await contender.open(
    async (id) => {
      const isLost = ++runs % 512 === 0 && !isPatient();
      if (id === 'last' || isLost) drained();
      if (isLost) await halt;
    },
    { workerQueueSize: Infinity },
  );
  let pushed = 0;
  while (pushed < count && isPatient()) {
    for (let i = 0; i < CHUNK; i++) push(ids[i % ids.length] as string);
    await new Promise<void>((resolve) => {
      drained = resolve;
      push('last');
    });
    pushed += CHUNK;
  }
  // Who has lost patience has been through as many events of the last chunk as there were runs.
  return stopwatch.rate(isPatient() ? pushed : Math.max(pushed - CHUNK, runs));
}
