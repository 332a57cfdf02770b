import { setTimeout as sleep } from 'node:timers/promises';

/** Resolves when nothing is pending any more, or `grace` ms are over. */
export async function settled(pending: () => number, grace: number): Promise<void> {
  for (const until = performance.now() + grace; pending() > 0 && performance.now() < until;) await sleep(20);
}
