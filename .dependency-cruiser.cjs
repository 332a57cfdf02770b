/** @param {string[]} names */
const peers = (...names) => `^node_modules/(${names.join('|')})/`;

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no-unresolvable',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: 'operators-import-rxjs-only',
      comment: 'The engine stands alone: rxjs and its own files, never lib/, never Node, never telemetry.',
      severity: 'error',
      from: { path: '^operators/' },
      to: { pathNot: ['^operators/', peers('rxjs')] },
    },
    {
      name: 'lib-imports-the-engine-and-its-peers',
      severity: 'error',
      from: { path: '^lib/', pathNot: '^lib/(etcd|postgres|testing|view)/' },
      to: { pathNot: ['^lib/(?!etcd/|postgres/|testing/|view/)', '^operators/', peers('rxjs', '@opentelemetry/api')] },
    },
    {
      name: 'lib-etcd-imports-no-client',
      comment: 'It talks to etcd by `fetch`.',
      severity: 'error',
      from: { path: '^lib/etcd/' },
      to: { pathNot: ['^lib/(?!postgres/|testing/)', '^operators/', peers('rxjs', '@opentelemetry/api')] },
    },
    {
      name: 'lib-postgres-may-import-pg',
      severity: 'error',
      from: { path: '^lib/postgres/' },
      to: { pathNot: ['^lib/(?!etcd/|testing/)', '^operators/', peers('rxjs', '@opentelemetry/api', 'pg', '@types/pg')] },
    },
    {
      name: 'lib-testing-may-import-fast-check',
      comment:
        'And three parts of Node: to compare values as its own asserts do, to see who waits for the real world, and to let promise jobs run.',
      severity: 'error',
      from: { path: '^lib/testing/' },
      to: {
        pathNot: [
          '^lib/(?!etcd/|postgres/)',
          '^operators/',
          '^(async_hooks|timers/promises|util)$',
          peers('rxjs', '@opentelemetry/api', 'fast-check'),
        ],
      },
    },
    {
      name: 'lib-view-imports-no-server',
      comment: 'It speaks fetch, and leaves Node and frameworks to whoever mounts it.',
      severity: 'error',
      from: { path: '^lib/view/' },
      to: { pathNot: ['^lib/(?!etcd/|postgres/|testing/)', '^operators/', peers('rxjs', '@opentelemetry/api')] },
    },
    {
      name: 'no-index-inside',
      comment: 'An index is for those outside; inside, the file that holds the thing is imported.',
      severity: 'error',
      from: { path: '^(operators|lib)/' },
      to: { path: ['^(operators|lib)/index\\.ts$', '^(operators|lib)/.+/index\\.ts$'] },
    },
    {
      name: 'sources-import-no-specs',
      severity: 'error',
      from: { path: '^(operators|lib)/' },
      to: { path: '^(spec|examples)/' },
    },
    {
      name: 'only-peers-at-run-time',
      comment: 'What is not a peer would be bundled into dist.',
      severity: 'error',
      from: { path: '^(operators|lib)/' },
      to: { path: '^node_modules/', pathNot: '^node_modules/@types/', dependencyTypesNot: ['npm-peer'] },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: ['^(dist|\\.reports|\\.stryker-tmp|examples/sources)/', '\\.config\\.(ts|js)$'] },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
      extensions: ['.ts', '.js', '.cjs', '.mjs', '.d.ts'],
    },
  },
};
