import { context, metrics, propagation, trace } from '@opentelemetry/api';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { NEVER, Subject } from 'rxjs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  constant,
  Controller,
  type ControllerContext,
  noopLogger,
  observability,
  type Reconciler,
  recordMetrics,
  resync,
  type Result,
  TerminalError,
} from 'kreconciler';
import { stateOf } from '../../examples/supervisor/state.js';
import { startTelemetry } from '../../examples/telemetry/sdk.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** One series of a text that Prometheus scrapes. */
interface Series {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

function parse(text: string): Series[] {
  return text.split('\n').flatMap((line) => {
    const [, name, labels = '', value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
    if (name === undefined) return [];
    return [
      {
        name,
        labels: Object.fromEntries(Array.from(labels.matchAll(/(\w+)="([^"]*)"/g), ([, key, text]) => [key, text]) as [string, string][]),
        value: Number(value),
      },
    ];
  });
}

const read = (file: string): string => readFileSync(new URL(`../../examples/telemetry/${file}`, import.meta.url), 'utf8');

interface Dashboard {
  readonly panels: readonly {
    readonly title: string;
    readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
  }[];
  readonly templating: { readonly list: readonly { readonly name: string; readonly query: string | { readonly query: string } }[] };
}
const dashboard = JSON.parse(read('dashboard.json')) as Dashboard;
const queries: [from: string, query: string][] = [
  ...dashboard.panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr, legendFormat }): [string, string] => [
      `panel ${title}`,
      `${expr} by (${Array.from(legendFormat.matchAll(/\{\{(\w+)\}\}/g), ([, label]) => label).join(', ')})`,
    ]),
  ),
  ...Array.from(
    read('alerts.yml').matchAll(/alert: (\w+)\n +expr: (?:\|\n)?((?:.*\n)*?) +(?:for|labels):/g),
    ([, name, expr]): [string, string] => [`alert ${name}`, expr!],
  ),
];

let series: Series[];
const spans: string[] = [];

/** A loop in which all happens that can. */
async function live(): Promise<void> {
  const events = new Subject<string>();
  const reconciler: Reconciler<ControllerContext> = async (id, { reason }) => {
    switch (id) {
      case 'throws':
        throw new Error('boom');
      case 'terminal':
        throw new TerminalError('no');
      case 'odd':
        return 'odd' as Result;
      case 'polls':
        return reason === 'event' ? { requeueDelay: 20 } : {};
      case 'waits':
      case 'waits too':
        return { requeueDelay: 60_000 };
      case 'slow':
        await sleep(20);
        return undefined;
      case 'hangs':
        await sleep(60_000, undefined, { ref: false });
        return undefined;
      default:
        return undefined;
    }
  };
  let lists = 0;
  const list = async (): Promise<string[]> => {
    if (lists++ === 0) throw new Error('not yet');
    return ['listed'];
  };
  const quiet = observability({ logger: noopLogger });
  const controller = new Controller(
    {
      name: 'zones',
      leaderElectionEnabled: false,
      delayResolution: 5,
      backoff: constant(5),
      maxItemRetries: 1,
      delayQueueSize: 3,
      workerQueueSize: 5,
      maxReconcileTime: 250,
      observability: quiet,
    },
    reconciler,
    { files: events, resync: resync({ every: 1000, list, backoff: constant(1), observability: quiet }) },
  );
  const stop = new AbortController();
  const done = controller.run(stop.signal);
  const idle = async (): Promise<void> => {
    while (controller.inspect().ready + controller.inspect().running > 0) await sleep(5);
  };
  for (const burst of [
    ['slow', 'throws', 'throws', 'terminal', 'odd', 'polls', 'full', 'fuller'],
    ['hangs'],
    ['waits', 'waits too', 'throws', 'odd'],
    ['slow', 'slow'],
  ]) {
    for (const id of burst) events.next(id);
    await idle();
    await sleep(20);
  }
  // A shard that has come, one that was freed, and one that nobody has.
  const moves = [
    ...(['acquired', 'acquired', 'revoked', 'freed'] as const).map((kind, i) => ({ kind, shard: i === 0 ? 1 : 0 })),
    { kind: 'unowned' as const, count: 1 },
  ];
  const shards = NEVER.pipe(recordMetrics({ name: 'zones', shards: moves })).subscribe();
  const response = await fetch(`http://127.0.0.1:${port}/metrics`);
  series = parse(await response.text());
  shards.unsubscribe();
  stop.abort();
  await done;
}

let port: number;

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

beforeAll(async () => {
  port = await freePort();
  const end = await startTelemetry(port, (line) => spans.push(line));
  await live();
  await end();
});
afterAll(() => {
  for (const global of [trace, metrics, context, propagation]) global.disable();
});

describe('the example telemetry', () => {
  it('should have queries to check', () => {
    expect(queries).toHaveLength(52);
    expect(queries.filter(([from]) => from.startsWith('alert'))).toHaveLength(13);
  });

  it.each(queries)('should find on the endpoint every series and label that it names: %s', (_, query) => {
    const selectors = [...query.matchAll(/(kreconciler_\w+)(?:\{([^}]*)\})?/g)];
    expect(selectors).not.toEqual([]);
    for (const [, name, matchers = ''] of selectors) {
      const found = series.filter((one) => one.name === name);
      expect(found, name).not.toEqual([]);
      for (const [, label, pattern] of matchers.matchAll(/(\w+)=~?"([^"]*)"/g)) {
        const values = found.map(({ labels }) => labels[label!]);
        if (pattern === '$controller') expect(values).toEqual(found.map(() => 'zones'));
        else for (const value of pattern!.split('|')) expect(values, `${name}{${label}}`).toContain(value);
      }
      for (const [, labels] of query.matchAll(/\b(?:by|ignoring) \(([^)]*)\)/g)) {
        for (const label of labels!.split(', ').filter((label) => label !== ''))
          for (const one of found) expect(one.labels, name).toHaveProperty(label);
      }
    }
  });

  it('should offer controllers to choose from by a label that is there', () => {
    const variable = dashboard.templating.list.find(({ name }) => name === 'controller');
    const [, name, label] = /label_values\((\w+), (\w+)\)/.exec((variable?.query as { query: string }).query) ?? [];
    expect(series.filter((one) => one.name === name).map(({ labels }) => labels[label!])).toEqual(['zones']);
  });

  it('should have no id and no error in a label', () => {
    const values = new Set(series.flatMap(({ labels }) => Object.values(labels)));
    for (const value of ['throws', 'slow', 'listed', 'boom']) expect(values).not.toContain(value);
  });

  it('should have the leader lead, and a run that is abandoned', () => {
    expect(series).toContainEqual({
      name: 'kreconciler_leader',
      labels: expect.objectContaining({ controller: 'zones' }) as object,
      value: 1,
    });
    expect(series).toContainEqual({
      name: 'kreconciler_abandoned',
      labels: expect.objectContaining({ controller: 'zones' }) as object,
      value: 1,
    });
  });

  it('should print each span as a line', () => {
    expect(spans).toContainEqual(
      expect.stringMatching(/^[0-9a-f]{8} {2}reconcile {2}id=slow stream=files {2}\d+ ms {2}enqueue > dequeue$/),
    );
    expect(spans).toContainEqual(
      expect.stringMatching(
        /^[0-9a-f]{8} {4}handle {2}id=throws attempt=2 reason=retry workerId=0 {2}\d+ ms {2}failed: boom {2}exception$/,
      ),
    );
    expect(spans).toContainEqual(expect.stringMatching(/^[0-9a-f]{8} {2}reconcile {2}id=polls .* linked to [0-9a-f]{8}$/));
  });

  it(
    'should be the supervisor, run as a user does: it can be scraped, prints its spans, and ends after its time',
    { timeout: 60_000 },
    async () => {
      const root = mkdtempSync(join(tmpdir(), 'supervisor-'));
      const port = String(await freePort());
      try {
        cpSync(join(ROOT, 'examples/supervisor/services'), root, { recursive: true });
        writeFileSync(join(root, 'package.json'), '{ "type": "module" }');
        const args = ['run', '--silent', 'example:telemetry', '--', '--for', '5', '--json', '--dir', root, '--state', join(root, 'state')];
        const child = spawn('npm', args, {
          cwd: ROOT,
          env: { ...process.env, PROMETHEUS_PORT: port },
          stdio: ['ignore', 'ignore', 'pipe'],
        });
        let printed = '';
        child.stderr.on('data', (chunk) => (printed += String(chunk)));
        const exited = once(child, 'exit');
        let scraped: Series[] = [];
        while (child.exitCode === null && !scraped.some(({ name }) => name === 'kreconciler_convergence_millis_count')) {
          scraped = await fetch(`http://127.0.0.1:${port}/metrics`).then(
            async (response) => parse(await response.text()),
            () => [],
          );
          await sleep(50);
        }
        expect((await exited)[0]).toBe(0);
        expect(scraped).toContainEqual(expect.objectContaining({ name: 'kreconciler_leader', value: 1 }));
        for (const id of ['flaky', 'ticker', 'web', 'worker']) expect(printed).toMatch(new RegExp(`  reconcile  id=${id} stream=resync  `));
      } finally {
        for (const folder of [stateOf(root), root]) rmSync(folder, { recursive: true, force: true });
      }
    },
  );
});
