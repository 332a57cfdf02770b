/**
 * Packs a tarball of its own, since one in the folder may be that of the user, checks how its types resolve, installs it into an
 * empty project and uses it as a stranger would: every entry as ESM and as CJS, the types
 * under `node16` and `bundler` resolution with `skipLibCheck: false`, a loop that runs to its end, and the testing kit under jest,
 * whose CommonJS is a stricter one than Node's. Run after `npm run build`.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

interface Manifest {
  readonly name: string;
  readonly exports: Readonly<Record<string, unknown>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

const root = join(import.meta.dirname, '../..');
const { name, exports, peerDependencies, devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest;
const entries = Object.keys(exports)
  .filter((entry) => !entry.endsWith('.json'))
  .map((entry) => entry.replace('.', name));

const project = mkdtempSync(join(tmpdir(), 'kreconciler-package-'));
const run = (command: string, ...args: string[]): string =>
  execFileSync(command, args, { cwd: project, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
const write = (file: string, text: string): void => {
  writeFileSync(join(project, file), text);
};

const loop = `
  const seen = [];
  rxjs.of('a', 'b', 'a').pipe(kreconciler.reconcile(async () => {})).subscribe({
    next: ({ kind }) => seen.push(kind),
    complete: () => { if (seen.filter((kind) => kind === 'succeeded').length !== 3) throw new Error('ran ' + seen); console.log('a loop ran to its end'); },
  });
`;
const jest = `
  const fc = require('fast-check');
  const { concat, NEVER } = require('rxjs');
  const { marbles, simulate, virtualTime } = require('${name}/testing');
  const { reconcile } = require('${name}');
  test('marbles', marbles(({ hot, expectSteps, scheduler }) => {
    expectSteps(hot('a-b').pipe(reconcile(() => undefined, { scheduler }))).toBe({ started: 'a-b', succeeded: 'a-b' });
  }));
  test('virtual time', () => virtualTime(async (clock) => {
    const ran = [];
    const loop = concat(['a'], NEVER).pipe(reconcile(async (id) => { await clock.sleep(3_600_000); ran.push(id); }, { scheduler: clock.scheduler, maxReconcileTime: 0 })).subscribe();
    await clock.advance(3_600_000);
    loop.unsubscribe();
    expect(ran).toEqual(['a']);
  }));
  test('simulate', async () => {
    const { runs } = await simulate({
      ids: ['a'],
      world: () => ({ wanted: 0, actual: 0 }),
      changes: { scale: { values: fc.nat(), apply: (world, id, value) => { world.wanted = value; } } },
      streams: { watch: { on: ['scale'] }, resync: { every: 60_000, list: () => ['a'] } },
      reconciler: () => async (id, { read, effect }) => {
        const { wanted } = await read((world) => world);
        await effect('set', (world) => { world.actual = wanted; });
      },
      converged: ({ wanted, actual }) => wanted === actual,
    }, { runs: 50 });
    expect(runs).toBe(50);
  });
`;
/** The loop of the front page, and what it says it prints. */
const readme = readFileSync(join(root, 'README.md'), 'utf8');
const [, pasted = ''] = /^```ts loop\n([^]*?)^```$/m.exec(readme) ?? [];
const [, printed = ''] = /^```\n(enqueued web[^]*?)^```$/m.exec(readme) ?? [];
/** What a message says of a line of code must be true of the package as well: its own files are bundled there under other names. */
const lines = `
  const { timer } = rxjs;
  const messageOf = (promise) => promise.then(() => 'nothing', ({ message }) => message);
  const claim = (message, pattern) => { if (!pattern.test(message)) throw new Error('Expected ' + pattern + ' of: ' + message); };
  test('a real timer is named by the line that set it', async () => {
    let waiting;
    function waitForReal() { return new Promise((resolve) => { waiting = setTimeout(resolve, 60_000); }); }
    claim(await messageOf(virtualTime(waitForReal)), /\\n {2}Timeout at .*lines\\.[^:]*:\\d+:\\d+/);
    clearTimeout(waiting);
  });
  test('an assertion that fails in an observer is what the test rejects with', async () => {
    const failing = virtualTime(async (clock) => {
      timer(10, clock.scheduler).subscribe(() => { throw new Error('an assertion'); });
      await clock.advance(20);
    });
    claim(await messageOf(failing), /^an assertion$/);
  });
`;
const imports = {
  esm: `import * as rxjs from 'rxjs'; import { virtualTime } from '${name}/testing';`,
  cjs: `const rxjs = require('rxjs'); const { virtualTime } = require('${name}/testing');`,
};
const typed = `
  import { of } from 'rxjs';
  import { Controller, type ControllerContext, type Reconciler, resync, type Step } from '${name}';
  import { ofKind, reconcile } from '${name}/operators';
  const reconciler: Reconciler<ControllerContext> = async (id, { signal, logger }) => { logger.info(id, { aborted: signal.aborted }); return { requeueDelay: 5 }; };
  const run: Promise<void> = new Controller({ workerCount: 2 }, reconciler, { resync: resync({ every: 1000, list: () => ['a'] }) }).run();
  const steps: Step[] = [];
  of('a').pipe(reconcile(() => undefined), ofKind('dropped')).subscribe((step) => { steps.push(step); step.reason satisfies string; });
  void run;
`;

try {
  const tarball = run('npm', 'pack', root, '--silent', '--pack-destination', project).trim();
  // Installed clients of the examples have READMEs, too.
  const foreign = run('tar', '-tzf', tarball).match(/^.*node_modules.*$/m)?.[0];
  if (foreign !== undefined) throw new Error(`The package holds ${foreign}, which is not of it`);
  execFileSync('npx', ['attw', join(project, tarball), '--profile', 'node16'], { cwd: root, stdio: 'inherit' });
  write('package.json', JSON.stringify({ name: 'stranger', private: true }));
  const peers = [...Object.keys(peerDependencies), 'typescript', '@types/node'].map((peer) => `${peer}@${devDependencies[peer] ?? ''}`);
  run('npm', 'install', '--no-audit', '--no-fund', '--silent', `./${tarball}`, ...peers);

  write(
    'esm.mjs',
    [
      ...entries.map((entry) => `import * as _${String(entries.indexOf(entry))} from '${entry}';`),
      `import * as rxjs from 'rxjs';`,
      `import * as kreconciler from '${name}';`,
      loop,
    ].join('\n'),
  );
  write(
    'cjs.cjs',
    [
      ...entries.map((entry) => `require('${entry}');`),
      `const rxjs = require('rxjs');`,
      `const kreconciler = require('${name}');`,
      loop,
    ].join('\n'),
  );
  for (const file of ['esm.mjs', 'cjs.cjs']) process.stdout.write(`${file}: ${run('node', file)}`);

  // F7: what waits for the real world is named by the user's line, out of a bundle as well.
  const waits = `
    virtualTime(() => new Promise((resolve) => setTimeout(resolve, 1000))).then(
      () => { throw new Error('It waited'); },
      ({ message }) => { console.log(message); },
    );`;
  write('waits.mjs', `import { virtualTime } from '${name}/testing';${waits}`);
  write('waits.cjs', `const { virtualTime } = require('${name}/testing');${waits}`);
  for (const file of ['waits.mjs', 'waits.cjs']) {
    if (!run('node', file).includes(`${file}:2:`)) throw new Error(`The line of ${file} is not named`);
  }
  console.log('a wait for the real world is named by its line');

  write('loop.mjs', pasted);
  if (run('node', 'loop.mjs') !== printed) throw new Error('The loop of the front page prints something else than it says');
  console.log('the loop of the front page ran');

  run('npm', 'install', '--no-audit', '--no-fund', '--silent', 'jest@30.5.2');
  write('testing.test.js', jest);
  run('npx', 'jest', '--silent');
  console.log('the testing kit ran under jest');

  write('lines.test.js', `${imports.cjs}\n${lines}`);
  run('npx', 'jest', '--silent', 'lines.test.js');
  rmSync(join(project, 'lines.test.js'));
  write('lines.node.mjs', `import { test } from 'node:test'; ${imports.esm}\n${lines}`);
  write('lines.node.cjs', `const { test } = require('node:test'); ${imports.cjs}\n${lines}`);
  run('node', '--test', 'lines.node.mjs', 'lines.node.cjs');
  write('lines.spec.mjs', `${imports.esm}\n${lines}`);
  run('node', join(root, 'node_modules/vitest/vitest.mjs'), 'run', '--globals', '--root', project, 'lines.spec.mjs');
  console.log('messages name the lines of the user under jest, node:test and vitest');

  const all = entries.map((entry, i) => `import * as all${String(i)} from '${entry}';\nvoid all${String(i)};`).join('\n');
  for (const file of ['types.mts', 'types.cts', 'types.ts']) write(file, `${all}\n${typed}`);
  for (const [module, moduleResolution, files] of [
    ['node16', 'node16', ['types.mts', 'types.cts']],
    ['preserve', 'bundler', ['types.ts']],
  ] as const) {
    const compilerOptions = {
      module,
      moduleResolution,
      target: 'es2022',
      lib: ['es2022'],
      types: ['node'],
      strict: true,
      exactOptionalPropertyTypes: true,
      skipLibCheck: false,
      noEmit: true,
    };
    write('tsconfig.json', JSON.stringify({ compilerOptions, files }));
    run('npx', 'tsc');
    console.log(`types: ${moduleResolution} resolution, without skipLibCheck`);
  }
} finally {
  rmSync(project, { recursive: true, force: true });
}
