import { of } from 'rxjs';
import type { Case, Figures } from '../case.js';
import type { Ability, Contender, Work } from '../contender.js';
import { distinct } from '../ids.js';
import { halt, Race } from '../race.js';
import { RATE } from '../stopwatch.js';

const IN_FLIGHT = 2000;

/** The reconcilers do nothing but call `refill`, which is false if the race is over. */
const RECONCILERS = {
  promise:
    (refill: () => boolean): Work =>
    async () => {
      if (!refill()) await halt;
    },
  sync:
    (refill: () => boolean): Work =>
    () => {
      refill();
    },
  observable:
    (refill: () => boolean): Work =>
    () => {
      refill();
      return of(undefined);
    },
};

/** A steady flow: each run lets the next ids in, so that there are always 2,000 queued or running. */
export function steady(workerCount: number, answer: Extract<Ability, keyof typeof RECONCILERS> = 'promise'): Case {
  return {
    title: `1,000,000 ids, 2,000 in flight, ${workerCount} worker${workerCount === 1 ? '' : 's'}, ${answer} reconciler`,
    needs: answer,
    columns: RATE,
    layers: workerCount === 1,
    baseline: answer === 'promise' ? 'fastq' : 'kreconciler',
    async measure(load, scale) {
      const contender = await load();
      const ids = distinct(1e6 * scale);
      await flow(contender, ids.slice(0, 1e5));
      return flow(contender, ids);
    },
  };

  async function flow(contender: Contender, ids: readonly string[]): Promise<Figures> {
    let pushed = 0;
    let started = 0;
    const refill = (): boolean => {
      started++;
      while (pushed < ids.length && pushed - started < IN_FLIGHT) push(ids[pushed++] as string);
      return race.goesOn();
    };
    const { push } = await contender.open(RECONCILERS[answer](refill), { workerCount });
    const race = new Race(ids.length);
    push(ids[pushed++] as string);
    return race.finished;
  }
}
