import { asyncScheduler } from 'rxjs';
import type { InspectedId } from '../inspect.js';
import type { InspectedIds, InspectIdsConfig } from '../inspect-ids.js';
import type { Action, IdDetails, IdPage, Overview, WorkerOverview } from './api.js';
import { notFound } from './answers.js';
import { cursorOf } from './cursor.js';
import { idRow, pauseMessage } from './id-row.js';
import { StepFeed } from './step-feed.js';
import { stepMessage } from './step-message.js';
import { cut } from './texts.js';
import { Turns } from './turns.js';
import type { Viewed } from './viewed.js';

/** How many runs of a worker are shown. */
const RUNS = 20;

/** How many times as long as it took what was seen of all ids is good enough: so this takes a twentieth of the time at most. */
const REST = 20;

/** One loop, as it is looked at. */
export class LoopView {
  readonly steps: StepFeed;
  readonly #turns = new Turns();
  /** Who runs, and who has not converged for longest. */
  #seen: { readonly page: InspectedIds; readonly until: number } | undefined;

  constructor(
    readonly name: string,
    readonly controller: Viewed,
  ) {
    this.steps = new StepFeed(controller);
  }

  async overview(actions: readonly Action[]): Promise<Overview> {
    const { ids: running, oldest } = await this.#look();
    const { paused, pausedIds, workers, ...inspection } = this.controller.inspect({ ids: false });
    return {
      name: this.name,
      at: this.#now(),
      ...inspection,
      pausedIds,
      ...(paused !== undefined && { paused: pauseMessage(paused) }),
      workers: workers.map((counts) => ({
        ...counts,
        name: cut(this.controller.config.workerName(counts.worker)),
        runs: runsOf(counts.worker, running as readonly InspectedId[]),
      })),
      ...(oldest !== undefined && { oldest: { id: cut(oldest.id), since: oldest.since } }),
      actions,
      chart: this.controller.rates().buckets,
    };
  }

  async ids(query: InspectIdsConfig): Promise<IdPage> {
    const { ids, total, next } = await this.#turns.take(JSON.stringify(query), () => this.controller.inspectIds(query));
    return { at: this.#now(), ids: ids.map(idRow), total, ...(next !== undefined && { next: cursorOf(next) }) };
  }

  /**
   * @param orIdle - whether one that nothing is known of is to be answered as what it is, idle
   * @throws RefusedError if nothing is known of it
   */
  id(id: string, actions: readonly Action[], orIdle: boolean): IdDetails {
    const inspected = this.controller.inspectId(id) ?? (orIdle ? ({ id, state: 'idle', history: [] } as const) : undefined);
    if (inspected === undefined) throw notFound();
    return { at: this.#now(), id: idRow(inspected), history: inspected.history.map(stepMessage), actions };
  }

  #look(): Promise<InspectedIds> {
    const begun = asyncScheduler.now();
    if (this.#seen !== undefined && begun < this.#seen.until) return Promise.resolve(this.#seen.page);
    return this.#turns.take('', async () => {
      const asked = asyncScheduler.now();
      const page = await this.controller.inspectIds({ state: 'running', limit: 1000 });
      const now = asyncScheduler.now();
      this.#seen = { page, until: now + REST * (now - asked) };
      return page;
    });
  }

  #now(): number {
    return this.controller.config.scheduler.now();
  }
}

function runsOf(worker: number, running: readonly InspectedId[]): WorkerOverview['runs'] {
  return running
    .filter((row) => row.worker === worker)
    .map(({ id, attempt, since = 0 }) => ({ id: cut(id), attempt, since }))
    .sort((a, b) => a.since - b.since)
    .slice(0, RUNS);
}
