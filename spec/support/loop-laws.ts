import type { ReconcileSettings, Step } from 'kreconciler/operators';
import { expect } from 'vitest';

/** Checks Q1, Q2, Q3 over the steps of a loop: how full its queues were, and that nothing was refused without need. */
export function checkQueues(steps: readonly Step[], { workerQueueSize, delayQueueSize }: ReconcileSettings): void {
  const ready = new Sets();
  const waiting = new Sets();
  for (const step of steps) {
    const { kind, id, worker } = step;
    if (kind === 'rejected' && step.reason === 'full') expect(ready.of(worker).size).toBe(workerQueueSize);
    if (kind === 'dropped' && step.reason === 'delay_queue_full') expect(waiting.of(worker).size).toBeGreaterThanOrEqual(delayQueueSize);
    if (kind === 'started' || kind === 'dropped') ready.of(worker).delete(id);
    if (kind === 'enqueued' || kind === 'dropped') waiting.of(worker).delete(id);
    if (kind === 'enqueued' && step.trigger !== undefined) ready.of(worker).add(id);
    if (kind === 'requeued') waiting.of(worker).add(id);
    expect(ready.of(worker).size).toBeLessThanOrEqual(workerQueueSize);
    // One that gave way is dirty, and never refused (Q2, W7).
    if (kind === 'requeued' && step.failure !== 'superseded') expect(waiting.of(worker).size).toBeLessThanOrEqual(delayQueueSize);
  }
}

class Sets {
  readonly #sets = new Map<number, Set<string>>();

  of(worker: number): Set<string> {
    const set = this.#sets.get(worker) ?? new Set();
    this.#sets.set(worker, set);
    return set;
  }
}

/** Checks R3, R4, E1 and T1 over the steps of each id: its attempts, and when it runs again. */
export function checkRetries(steps: readonly Step[], settings: ReconcileSettings): void {
  for (const id of new Set(steps.map((step) => step.id))) {
    const story = steps.filter((step) => step.id === id);
    try {
      checkRetriesOf(story, settings);
    } catch (cause) {
      throw new Error(`${id}:\n${story.map((step) => JSON.stringify(step)).join('\n')}`, { cause });
    }
  }
}

function checkRetriesOf(story: readonly Step[], { delayResolution, maxItemRetries }: ReconcileSettings): void {
  const tick = (at: number): number => Math.ceil(at / delayResolution) * delayResolution;
  let attempts = [1];
  let embargo = -Infinity;
  let due: number | undefined;
  let dirty = false;
  let held = false;
  for (const step of story) {
    switch (step.kind) {
      case 'merged':
        dirty = true;
        break;
      case 'enqueued':
        if (step.reason !== 'event') expect(held || due === undefined ? due : step.at).toBe(due);
        if (step.reason !== 'event') expect(step.at).toBeGreaterThanOrEqual(due!);
        due = undefined;
        break;
      case 'started':
        expect(attempts).toContain(step.attempt);
        expect(step.attempt).toBeLessThanOrEqual(maxItemRetries + 1);
        expect(step.at).toBeGreaterThanOrEqual(embargo);
        dirty = held = false;
        break;
      case 'succeeded':
        attempts = [1];
        embargo = -Infinity;
        break;
      case 'requeued':
        due = tick(step.at + step.delay);
        // An early run that fails leaves the count as it was (E1).
        attempts = step.failure === undefined ? [1] : [step.attempt, step.attempt + 1];
        embargo = step.failure === undefined ? -Infinity : step.at + delayResolution;
        break;
      case 'dropped':
        if (step.reason === 'retries') expect(step.attempt).toBe(maxItemRetries + 1);
        attempts = [1];
        embargo = dirty && step.reason !== 'stopped' ? step.at + delayResolution : -Infinity;
        due = undefined;
        break;
      case 'abandoned':
        held = true;
        break;
    }
  }
}
