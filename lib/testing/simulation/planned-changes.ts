import type { Timer, VirtualScheduler } from '../virtual-scheduler.js';
import type { PlannedChange } from './schedule.js';

/** The changes of a schedule, each at its moment. One timer serves them all: only the next change waits. */
export class PlannedChanges implements Timer {
  due = 0;
  order = 0;
  index = -1;
  #next = 0;

  /** @param changes - in the order of their moments */
  constructor(
    readonly changes: readonly PlannedChange[],
    readonly scheduler: VirtualScheduler,
    readonly happen: (change: PlannedChange) => void,
  ) {
    const [first] = changes;
    if (first !== undefined) scheduler.add(first.at, this);
  }

  run(): void {
    const change = this.changes[this.#next++] as PlannedChange;
    const next = this.changes[this.#next];
    // Before all that was scheduled since the first: a change does not wait for what others cause at its moment.
    if (next !== undefined) this.scheduler.addAgain(next.at - this.scheduler.elapsed, this);
    this.happen(change);
  }
}
