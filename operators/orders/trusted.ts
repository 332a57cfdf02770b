import { fifo } from './fifo.js';
import type { ReadyQueue } from './ready-queue.js';

/** The orders that are known to keep the rules and never ask users, so that nobody has to watch them. What users make of one is not. */
export const trusted = new WeakSet<() => ReadyQueue>([fifo]);
