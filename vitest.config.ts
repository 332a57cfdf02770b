import { availableParallelism } from 'node:os';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';

/** What all projects have in common. */
export const project = {
  // `kreconciler` and its entries resolve to the sources, by the `paths` of tsconfig.json.
  resolve: { tsconfigPaths: true },
  test: {
    pool: 'threads',
    // What hangs must fail, and what a busy machine holds up must not.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    maxConcurrency: 10,
    restoreMocks: true,
    unstubGlobals: true,
    benchmark: { include: [] },
  },
} satisfies TestProjectInlineConfiguration;

/** Specs that start processes or servers, weigh the heap, or set globals. */
const alone = [
  'spec/examples/**/*.spec.ts',
  'spec/integration/*.spec.ts',
  'spec/lib/observability/*.spec.ts',
  'spec/lib/etcd/*.spec.ts',
  'spec/lib/postgres/*.spec.ts',
  'spec/lib/view/*.spec.ts',
  'spec/operators/{load,process}.spec.ts',
];

export default defineConfig({
  test: {
    // One more than there are processors: whoever waits for a process or a server needs none.
    maxWorkers: availableParallelism() + 1,
    projects: [
      // A worker for each file.
      { ...project, test: { ...project.test, name: 'alone', include: alone, benchmark: { include: ['spec/bench/*.bench.ts'] } } },
      // Workers that keep what they have imported: to import it for each file took as long as most of the tests.
      {
        ...project,
        test: {
          ...project.test,
          name: 'laws',
          include: ['spec/**/*.spec.ts', 'examples/testing/*.spec.ts'],
          exclude: alone,
          isolate: false,
        },
      },
    ],
    coverage: {
      provider: 'v8',
      include: ['operators/**/*.ts', 'lib/**/*.ts'],
      exclude: ['**/index.ts'],
      reporter: ['text', 'html'],
      reportsDirectory: '.reports/coverage',
    },
  },
});
