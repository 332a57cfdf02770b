import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { defaultConfig } from 'kreconciler';
import { complaintsAbout } from '../support/readme-blocks.js';
import { blocks, documents, root } from '../support/readmes.js';
import { ownFiles } from '../support/own-files.js';

const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: Record<string, string> };

/** The rows of all tables of a document, as trimmed cells. */
function rowsOf(path: string): string[][] {
  const lines = documents
    .get(path)!
    .split('\n')
    .filter((line) => line.startsWith('|'));
  return lines.map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

/** The targets of all links of a document. */
function linksOf(text: string): string[] {
  return [...text.replaceAll(/```[^]*?```/g, '').matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => target!);
}

/** The headings of a document, as they are in links. */
function anchorsOf(path: string): string[] {
  const headings = [
    ...documents
      .get(path)!
      .replaceAll(/```[^]*?```/g, '')
      .matchAll(/^#+ (.*)$/gm),
  ].map(([, heading]) => heading!);
  return headings.map((heading) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

describe.each([...documents])('%s', (path, text) => {
  it('should link only to what there is', () => {
    const broken = linksOf(text)
      .filter((target) => !/^https?:/.test(target))
      .filter((target) => {
        const [file = '', anchor] = target.split('#');
        const found = file === '' ? path : join(dirname(path), file);
        return !existsSync(join(root, found)) || (anchor !== undefined && !anchorsOf(found).includes(anchor));
      });
    expect(broken).toEqual([]);
  });

  it('should name only scripts that there are', () => {
    for (const [, script] of text.matchAll(/npm run ([\w:-]+)/g)) expect(scripts).toHaveProperty([script!]);
  });
});

it('should lead from the front page to every document, by links', () => {
  const found = new Set(['README.md']);
  for (const path of found) {
    for (const target of linksOf(documents.get(path)!)) {
      const linked = join(dirname(path), target.split('#')[0]!);
      if (documents.has(linked)) found.add(linked);
    }
  }
  const templates = /^(examples\/sources|\.github\/(ISSUE_TEMPLATE|pull_request_template))/;
  expect([...documents.keys()].filter((path) => !found.has(path) && !templates.test(path))).toEqual([]);
});

describe('The blocks of TypeScript', () => {
  it('should have names of their own', () => {
    const names = blocks.map(({ name }) => name);
    expect(names).toEqual([...new Set(names)]);
    expect(names).not.toContain('');
  });

  it('should compile', { timeout: 600_000 }, () => {
    expect(complaintsAbout(blocks, root)).toEqual([]);
  });

  it('should be run by a spec, each of them', () => {
    const specs = ownFiles(root, /^spec\/.*\.spec\.ts$/).map((path) => readFileSync(join(root, path), 'utf8'));
    const isRun = (name: string): boolean => specs.some((spec) => new RegExp(`\\b(ran|blockOf)\\(\\s*'${name}'`).test(spec));
    expect(blocks.map(({ name }) => name).filter((name) => !isRun(name))).toEqual([]);
  });
});

const rows = rowsOf('README.md');

describe('The front page', () => {
  it('should be read in one sitting: at most 220 lines', () => {
    expect(documents.get('README.md')!.trimEnd().split('\n').length).toBeLessThanOrEqual(220);
  });

  it('should name each field of the configuration, with its default where that is a number', () => {
    for (const [field, value] of Object.entries(defaultConfig())) {
      const row = rows.find(([name]) => name === `\`${field}\``);
      expect(row, field).toBeDefined();
      if (typeof value === 'number') expect(Number(row?.[1]?.replaceAll(' ', '')), field).toBe(value);
    }
  });

  it.each(['enqueued', 'merged', 'rejected', 'started', 'succeeded', 'requeued', 'dropped', 'abandoned', 'released', 'paused', 'resumed'])(
    'should explain each kind of step: %s',
    (kind) => {
      expect(rows.some(([name]) => name?.includes(`\`${kind}\``))).toBe(true);
    },
  );
});

describe('examples/README.md', () => {
  const rows = rowsOf('examples/README.md');

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
  ])('should say what became of %s of Go', (name) => {
    const pattern = new RegExp(`\`${name}\\b`);
    expect(rows.some(([go]) => pattern.test(go ?? ''))).toBe(true);
  });
});
