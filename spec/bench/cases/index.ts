import type { Case } from '../case.js';

/** Each is loaded only in the process that measures it, so that what it imports does not count as import time of `start`. */
export const cases: Readonly<Record<string, () => Promise<Case>>> = {
  'steady-1': async () => (await import('./steady.js')).steady(1),
  'steady-4': async () => (await import('./steady.js')).steady(4),
  'steady-sync': async () => (await import('./steady.js')).steady(1, 'sync'),
  'steady-observable': async () => (await import('./steady.js')).steady(1, 'observable'),
  burst: async () => (await import('./burst.js')).burst,
  'ordered-2k': async () => (await import('./ordered.js')).ordered(2000),
  'ordered-2k-warm': async () => (await import('./ordered.js')).ordered(2000, 100),
  'ordered-50k': async () => (await import('./ordered.js')).ordered(50_000),
  'ordered-1m': async () => (await import('./ordered.js')).ordered(1_000_000),
  dedup: async () => (await import('./dedup.js')).dedup,
  'retries-1k': async () => (await import('./retries.js')).retries(1000),
  'retries-100k': async () => (await import('./retries.js')).retries(100_000),
  'retries-1m': async () => (await import('./retries.js')).retries(1_000_000),
  'memory-ready': async () => (await import('./memory.js')).memory('ready'),
  'memory-waiting': async () => (await import('./memory.js')).memory('waiting'),
  latency: async () => (await import('./latency.js')).latency(),
  'hung-id': async () => (await import('./latency.js')).latency('id-7'),
  start: async () => (await import('./start.js')).start,
};
