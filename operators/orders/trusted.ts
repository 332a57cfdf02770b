import type { ReadyQueue } from './ready-queue.js';

const trusted = new WeakSet<() => ReadyQueue>();

/** Marks an order that is known to keep the rules and never asks users, so that nobody has to watch it. */
export function trust(order: () => ReadyQueue): () => ReadyQueue {
  trusted.add(order);
  return order;
}

/** Whether it is one that {@link trust} has marked: what users have made of it, or around it, is not. */
export function isTrusted(order: () => ReadyQueue): boolean {
  return trusted.has(order);
}
