import { readFileSync } from 'node:fs';
import * as everything from 'kreconciler';
import * as operators from 'kreconciler/operators';
import { expect, it } from 'vitest';

/** What each index names, types included. */
function named(index: string): string[] {
  const source = readFileSync(new URL(index, import.meta.url), 'utf8');
  const lists = [...source.matchAll(/\{([^}]*)\}/g)].flatMap(([, list]) => (list as string).split(','));
  return lists.map((name) => name.trim()).filter((name) => name !== '');
}

it('kreconciler/operators exports this, and nothing else', () => {
  expect(Object.keys(operators).sort()).toEqual([
    'DelayScheduler',
    'RetryError',
    'TerminalError',
    'after',
    'byPriority',
    'constant',
    'defaultHasher',
    'exponential',
    'fair',
    'fifo',
    'loop',
    'ofKind',
    'reconcile',
    'reconcileSettings',
    'route',
    'snapshots',
    'whileLeading',
  ]);
});

it('kreconciler/operators names these types', () => {
  const names = named('../../operators/index.ts').map((name) => name.replace(/^type /, ''));
  expect(names.filter((name) => !(name in operators)).sort()).toEqual([
    'Abandoned',
    'Backoff',
    'ByPriorityConfig',
    'Counts',
    'Dropped',
    'Enqueued',
    'ExponentialConfig',
    'Failure',
    'FairConfig',
    'LoopParts',
    'Merged',
    'Paused',
    'ReadyItem',
    'ReadyQueue',
    'Reason',
    'ReconcileConfig',
    'ReconcileContext',
    'ReconcileSettings',
    'Reconciler',
    'Rejected',
    'Released',
    'Requeued',
    'Result',
    'Resumed',
    'Snapshot',
    'Started',
    'Step',
    'StepOf',
    'Succeeded',
    'Trampoline',
    'Trigger',
    'WorkerCounts',
  ]);
});

it('kreconciler exports all of it too', () => {
  expect(everything).toMatchObject(operators);
  expect(named('../../lib/index.ts')).toEqual(expect.arrayContaining(named('../../operators/index.ts')));
});
