import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import * as kreconciler from 'kreconciler';
import { defaultConfig } from 'kreconciler';
import { complaintsAbout } from './support/readme-blocks.js';

const root = join(import.meta.dirname, '..');
const readme = readFileSync(join(root, 'README.md'), 'utf8');
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: Record<string, string> };

/** The rows of all tables, as trimmed cells. */
const rows = readme
  .split('\n')
  .filter((line) => line.startsWith('|'))
  .map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );

describe('README', () => {
  it('should name each field of the configuration, with its default where that is a number', () => {
    for (const [field, value] of Object.entries(defaultConfig())) {
      const row = rows.find(([name]) => name === `\`${field}\``);
      expect(row, field).toBeDefined();
      if (typeof value === 'number') expect(Number(row?.[1]?.replaceAll(' ', '')), field).toBe(value);
    }
  });

  it.each(['enqueued', 'merged', 'rejected', 'started', 'succeeded', 'requeued', 'dropped', 'abandoned', 'released'])(
    'should explain each kind of step: %s',
    (kind) => {
      expect(rows.some(([name]) => name?.includes(`\`${kind}\``))).toBe(true);
    },
  );

  it('should name only scripts that there are', () => {
    const named = [...readme.matchAll(/npm run ([\w:-]+)/g)].map(([, script]) => script ?? '');
    expect(named).not.toEqual([]);
    for (const script of named) expect(scripts, script).toHaveProperty([script]);
  });

  it('should show only TypeScript that compiles', { timeout: 600_000 }, () => {
    expect(complaintsAbout(readme, root)).toEqual([]);
  });

  it('should import only names that there are', () => {
    const values = new Set([...Object.keys(kreconciler)]);
    const types = ['Reconciler', 'ControllerContext', 'EventStream', 'Step', 'Trigger'];
    for (const [, names = ''] of readme.matchAll(/import \{([^}]*)\} from 'kreconciler(?:\/operators)?'/g)) {
      for (const name of names.split(',').map((part) => part.trim().replace('type ', ''))) {
        expect(values.has(name) || types.includes(name), name).toBe(true);
      }
    }
  });

  it.each([
    ...[
      'New',
      'Config',
      'DefaultConfig',
      'Controller.Run',
      'Controller.BecomeLeader',
      'Error.RetryDelay',
      'EventHandler',
      'EventHandlerFunc',
    ],
    ...[
      'MeteredEventHandler',
      'EventStream',
      'EventStreamFunc',
      'NoopStream',
      'ResyncLoopEventStream',
      'Logger',
      'NoopLogger',
      'Observability',
    ],
    ...[
      'DefaultObservability',
      'NewObservability',
      'LoggerWithCtx',
      'Reconciler',
      'ReconcilerFunc',
      'Result',
      'WorkerHasher',
      'WorkerHasherFunc',
    ],
    ...['DefaultHasher', 'Config.MaxItemRetries', 'Config.WorkerQueueSize', 'Config.WorkerNameHelper', 'Config.LeaderElectionEnabled'],
    ...['WorkerCount', 'DelayResolution', 'DelayQueueSize', 'MaxReconcileTime'],
  ])('should tell whoever comes from Go what became of %s', (name) => {
    const pattern = new RegExp(`\`${name}\\b`);
    expect(rows.some(([go]) => pattern.test(go ?? ''))).toBe(true);
  });
});
