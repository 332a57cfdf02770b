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

it('should be this for kreconciler/operators, and nothing else', () => {
  expect(Object.keys(operators).sort()).toEqual([
    'DelayScheduler',
    'RetryError',
    'TerminalError',
    'after',
    'byPriority',
    'constant',
    'debounceById',
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

it('should include these types for kreconciler/operators', () => {
  const names = named('../../operators/index.ts').map((name) => name.replace(/^type /, ''));
  expect(names.filter((name) => !(name in operators)).sort()).toEqual([
    'Abandoned',
    'Backoff',
    'ByPriorityConfig',
    'Command',
    'Counts',
    'DebounceByIdConfig',
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
    'Trigger',
    'WorkerCounts',
  ]);
});

it('should be in kreconciler, too, all of it', () => {
  expect(everything).toMatchObject(operators);
  expect(named('../../lib/index.ts')).toEqual(expect.arrayContaining(named('../../operators/index.ts')));
});
