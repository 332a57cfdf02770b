import { setTimeout as delay } from 'node:timers/promises';

/** Resolves once `holds` does, and rejects with what it last said if that takes longer than `within` ms. */
export async function until<T>(what: string, holds: () => T | Promise<T>, within = 30_000): Promise<NonNullable<T>> {
  const begun = performance.now();
  for (;;) {
    const answer = await holds();
    if (answer !== undefined && answer !== null && answer !== false) return answer;
    if (performance.now() - begun > within) throw new Error(`Waited ${within} ms in vain until ${what}`);
    await delay(50);
  }
}
